package rights

// Unseen is a right that a program needs although no request of these tests shows it. An empty Account, Group, Resource or Verb stands for any.
type Unseen struct {
	Account, Verb, Group, Resource string
	// Why it is needed.
	Why string
}

func (u Unseen) is(r Right) bool {
	like := func(pattern, value string) bool { return pattern == "" || pattern == value }
	return like(u.Account, r.Account) && like(u.Verb, r.Verb) && like(u.Group, r.Group) && like(u.Resource, r.Resource)
}

// Known are the rights whose need is shown elsewhere.
var Known = []Unseen{
	{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Why: "admission asks for it when a certificate request is approved, and not by a request"},
}
