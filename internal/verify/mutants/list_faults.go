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
		Like: givenUpWorlds, Note: "a machine waits for an instance that never starts, and does not report the reason",
	},
	{
		ID: "lifecycle/fault-at-once", File: "live.go", Func: "givenUp",
		From: "case q.creating().passed():",
		To:   "case true:",
		Like: givenUpWorlds, Note: "a set of machine.sapcloud.io requests one instance after the other where there is no capacity, and the autoscaler does not look elsewhere",
	},
	{
		ID: "lifecycle/mending-is-final", File: "live.go", Func: "final",
		From: "return false",
		To:   "return true",
		Like: givenUpWorlds, Note: "a machine of machine.openshift.io fails although the infrastructure repairs the instance a minute later",
	},
	{
		ID: "lifecycle/fault-of-the-proved", File: "live.go", Func: "givenUp",
		From: "q.m.HadNode() || ",
		To:   "",
		Note: "the instance's fault, not the node, decides about a machine that has had a node; no provider reports such an instance as failed",
	},
	{
		ID: "lifecycle/fault-over-node", File: "live.go", Func: "givenUp",
		From: " || q.w.Node.Object != nil",
		To:   "",
		Note: "a machine whose node has joined fails for an earlier fault",
	},
	{
		ID: "lifecycle/fault-blind", File: "live.go", Func: "givenUp",
		From: "!q.w.Node.Looked && !q.p.Targetless",
		To:   "false",
		Note: "a machine fails while its controller cannot know whether its node has joined; statement 6 holds, because no instance that failed to start has a node",
	},
	{
		ID: "lifecycle/mended-unseen", File: "live.go", Func: "givenUp",
		From: "case i != nil:",
		To:   "case false:",
		Note: "an instance under repair is looked up again only after another event, such as the join of its node",
	},
	{
		ID: "lifecycle/fault-there-ignored", File: "claim.go", Func: "Claims",
		From: "fault != nil {",
		To:   "fault != nil && false {",
		Like: givenUpWorlds, Note: "an instance in error counts as one that did not fail",
	},
	{
		ID: "lifecycle/fault-gone-ignored", File: "claim.go", Func: "Claims",
		From: "if s.Fault != nil && (",
		To:   "if false && (",
		Like: givenUpWorlds, Note: "the reason for which an instance ended is not reported",
	},
	{
		ID: "lifecycle/fault-of-anybody", File: "claim.go", Func: "Claims",
		From: ` && (s.Recorded || m.Recorded.ProviderID == "" && s.UID == m.UID)`,
		To:   "",
		Note: "a machine fails because of an instance of another machine with its name",
	},
	{
		ID: "lifecycle/given-up-unasked", File: "decide.go", Func: "unheard",
		From: ", ReasonGivenUp: true",
		To:   "",
		Note: "a machine fails although only a cache does not show its node; no instance that failed to start has a node",
	},
	{
		ID: "machine/fault-forgotten", File: "instances.go", Func: "instances.claim",
		From: ", Fault: c.Fault,",
		To:   ",",
		Like: givenUpWorlds, Note: "the same as lifecycle/fault-unheeded",
	},
	{
		ID: "openshift/no-room-unsaid", File: "record.go", Func: "recordFailure",
		From: "case why.Reason == lifecycle.ReasonGivenUp && provider.KindOf(why.Err) == provider.Exhausted:",
		To:   "case false:",
		Like: givenUpWorlds, Note: "a machine for which there was no capacity reports CreateError",
	},
	{
		ID: "openshift/mending-unsaid", File: "record.go", Func: "existence",
		From: "o.Reason == lifecycle.ReasonGivenUp",
		To:   "false",
		Like: givenUpWorlds, Note: "a machine does not report why it waits for its instance",
	},
	{
		ID: "gardener/no-room-unsaid", File: "record.go", Func: "trouble",
		From: "ErrorCode: code(err), ",
		To:   "",
		Like: givenUpWorlds, Note: "the cluster-autoscaler does not learn that there is no capacity",
	},
	{
		ID: "decorate/fault-tells", File: "redact.go", Func: "redactingSession.redacted",
		From:  "i.Fault = redactFault(i.Fault, s.credentials)",
		To:    "return i",
		Finds: "TestDiscreetFault", Note: "a password that the infrastructure repeats is written to objects",
	},
	{
		ID: "lifecycle/join-limit-from-creation", File: "join_limit.go", Func: "input.joining",
		From: "since = open.At",
		To:   "_ = open.At",
		Note: "a machine that waited long for a controller or for capacity fails as soon as its instance is created",
	},
	{
		ID: "lifecycle/lookup-fails-young-request", File: "live.go", Func: "lookupFailed",
		From: "q.joining().passed()",
		To:   "q.creating().passed()",
		Note: "a machine fails while the infrastructure does not answer, although its instance was just requested and may join",
	},
	{
		ID: "lifecycle/lookup-fails-ready-node", File: "live.go", Func: "lookupFailed",
		From: " && !q.w.Node.ready()",
		To:   "",
		Note: "a machine whose node is ready fails because the infrastructure does not answer",
	},
	{
		ID: "lifecycle/creation-fails-ready-node", File: "live.go", Func: "retryPending",
		From: " && !q.w.Node.ready()",
		To:   "",
		Note: "a machine whose node is ready fails because its creation reported an error",
	},
}
