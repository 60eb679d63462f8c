package uprobe

// AtEntry reports whether no site's function has set up its frame yet: see Site.Entry.
func (p *Plan) AtEntry() bool {
	for i := range p.Sites {
		if !p.Sites[i].Entry {
			return false
		}
	}
	return true
}
