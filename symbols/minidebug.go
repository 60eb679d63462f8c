package symbols

// addMiniDebug collects the symbols of .gnu_debugdata.
func (b *builder) addMiniDebug(m *image) error { return nil }
