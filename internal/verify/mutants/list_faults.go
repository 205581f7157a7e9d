package mutants

// givenUpWorlds is a setting that several mutants name.
const givenUpWorlds = "accepted and given up"

// faultMutants are defects in the handling of machines whose accepted instances failed.
var faultMutants = []Mutant{
	{
		ID: "lifecycle/fault-unheeded", File: "live.go", Func: "life",
		From: `	givenUp,
`,
		To:   "",
		Like: givenUpWorlds, Note: "a machine waits for an instance that never starts, and does not say why",
	},
	{
		ID: "lifecycle/fault-at-once", File: "live.go", Func: "givenUp",
		From: "case q.overdue():",
		To:   "case true:",
		Like: givenUpWorlds, Note: "a set of machine.sapcloud.io asks for one instance after the other where there is no room, and nobody looks elsewhere",
	},
	{
		ID: "lifecycle/mending-is-final", File: "live.go", Func: "final",
		From: "return false",
		To:   "return true",
		Like: givenUpWorlds, Note: "a machine of machine.openshift.io fails for what the infrastructure mends a minute later",
	},
	{
		ID: "lifecycle/fault-of-the-proved", File: "live.go", Func: "givenUp",
		From: "q.m.HadNode() || ",
		To:   "",
		Note: "a machine that ran is not judged by its node; no provider says of such an instance that it was given up",
	},
	{
		ID: "lifecycle/fault-over-node", File: "live.go", Func: "givenUp",
		From: " || q.w.Node.Object != nil",
		To:   "",
		Note: "a machine whose node has joined fails for what was true before",
	},
	{
		ID: "lifecycle/fault-blind", File: "live.go", Func: "givenUp",
		From: "!q.w.Node.Looked && !q.p.Targetless",
		To:   "false",
		Note: "a machine fails while nobody can tell whether its node has joined; statement 6 holds, as no instance that was given up has one",
	},
	{
		ID: "lifecycle/mended-unseen", File: "live.go", Func: "givenUp",
		From: "case i != nil:",
		To:   "case false:",
		Note: "what the infrastructure mends is looked at again only when something else happens, such as that its node joins",
	},
	{
		ID: "lifecycle/fault-there-ignored", File: "claim.go", Func: "Claims",
		From: "fault != nil {",
		To:   "fault != nil && false {",
		Like: givenUpWorlds, Note: "an instance in error counts as one that was never given up",
	},
	{
		ID: "lifecycle/fault-gone-ignored", File: "claim.go", Func: "Claims",
		From: "if s.Fault != nil && (",
		To:   "if false && (",
		Like: givenUpWorlds, Note: "of an instance that is gone nobody says why",
	},
	{
		ID: "lifecycle/fault-of-anybody", File: "claim.go", Func: "Claims",
		From: ` && (s.Recorded || m.Recorded.ProviderID == "" && s.UID == m.UID)`,
		To:   "",
		Note: "a machine fails for an instance that somebody else of its name had",
	},
	{
		ID: "lifecycle/given-up-unasked", File: "decide.go", Func: "unheard",
		From: ", ReasonGivenUp: true",
		To:   "",
		Note: "a machine is given up by a cache that does not show its node; no instance that was given up has one",
	},
	{
		ID: "machine/fault-forgotten", File: "instances.go", Func: "instances.claim",
		From: ", Fault: c.Fault,",
		To:   ",",
		Like: givenUpWorlds, Note: "as lifecycle/fault-unheeded",
	},
	{
		ID: "openshift/no-room-unsaid", File: "record.go", Func: "recordFailure",
		From: "case why.Reason == lifecycle.ReasonGivenUp && provider.KindOf(why.Err) == provider.Exhausted:",
		To:   "case false:",
		Like: givenUpWorlds, Note: "a machine for which there was no room says CreateError",
	},
	{
		ID: "openshift/mending-unsaid", File: "record.go", Func: "existence",
		From: "o.Reason == lifecycle.ReasonGivenUp",
		To:   "false",
		Like: givenUpWorlds, Note: "a machine does not say what its instance waits for",
	},
	{
		ID: "gardener/no-room-unsaid", File: "record.go", Func: "trouble",
		From: "ErrorCode: code(err), ",
		To:   "",
		Like: givenUpWorlds, Note: "the cluster-autoscaler does not hear that there is no room",
	},
	{
		ID: "decorate/fault-tells", File: "redact.go", Func: "redactingSession.redacted",
		From:  "i.Fault = redactFault(i.Fault, s.credentials)",
		To:    "return i",
		Finds: "TestDiscreetFault", Note: "a password that the infrastructure repeats is told in objects",
	},
}
