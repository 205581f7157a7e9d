package cloud

// Talker is a [Body] whose instances write to a console.
type Talker interface {
	// Console returns the end of what the instance wrote, at most limit bytes of
	// it; empty when there is nothing.
	Console(r Record, limit int) (string, error)
}

// Console returns the end of an instance's console, and false when the instance
// is gone.
func (c *Cloud) Console(cluster string, g Given, limit int) (text string, ok bool, err error) {
	r, err := c.reread(Record{ID: g.ID, Cluster: cluster, UID: g.UID, Node: g.Node})
	if err != nil || r == nil {
		return "", false, err
	}
	body, err := c.body(r.Traits.Backend)
	if err != nil {
		return "", false, err
	}
	t, ok := body.(Talker)
	if !ok {
		return "", true, nil
	}
	text, err = t.Console(*r, limit)
	return text, true, err
}
