package uprobe

// AtEntry tells whether every site is where a function's frame is not set up
// yet: see Site.Entry.
func (p *Plan) AtEntry() bool {
	for i := range p.Sites {
		if !p.Sites[i].Entry {
			return false
		}
	}
	return true
}
