package cloud

// ConsoleReader is a [Body] with console output.
type ConsoleReader interface {
	// Console returns the end of the instance's output, at most limit bytes; empty: there is no output.
	Console(r Record, limit int) (string, error)
}

// Console returns the end of an instance's console output, and false if the instance does not exist.
func (c *Cloud) Console(cluster string, g InstanceRef, limit int) (text string, ok bool, err error) {
	r, err := c.reread(Record{ID: g.ID, Cluster: cluster, UID: g.UID, Node: g.Node})
	if err != nil || r == nil {
		return "", false, err
	}
	body, err := c.body(r.Traits.Backend)
	if err != nil {
		return "", false, err
	}
	t, ok := body.(ConsoleReader)
	if !ok {
		return "", true, nil
	}
	text, err = t.Console(*r, limit)
	return text, true, err
}
