package mutants

// decisionMutants are in sight, the approval of certificates, and the notices of clouds.
var decisionMutants = []Mutant{
	{
		ID: "connectivity/sleep-unnoticed", File: "connectivity.go", Func: "State.connected",
		From: "s.broken || r.At.Sub(s.last) > s.asleep()",
		To:   "s.broken",
		Note: "the time in which nobody looked runs for all timers; statement 6 holds, as who slept for so long leads no more; without leader election it could break",
	},
	{
		ID: "connectivity/outage-counts", File: "connectivity.go", Func: "State.connected",
		From:      "s.broken || r.At.Sub",
		To:        "r.At.Sub",
		Statement: 6, Note: "a short outage runs for all timers",
		Like: "dimmed",
	},
	{
		ID: "connectivity/denied-is-seen", File: "connectivity.go", Func: "State.After",
		From:      "all = all && e.answer == Reachable",
		To:        "all = all && e.answer != Unreachable",
		Statement: 6, Note: "an API server that denies counts as one that shows everything",
		Like: "denied",
	},
	{
		ID: "connectivity/unsettled", File: "connectivity.go", Func: "State.Remaining",
		From:      "return max(left, min(timeout, Settle)-s.Elapsed(s.Since(), now))",
		To:        "return left",
		Statement: 6, Note: "timers end in the moment that sight comes back",
		Like: "many outages",
	},
	{
		ID: "connectivity/deletion-blind", File: "connectivity.go", Func: "State.Blocked",
		From: "Cluster(c) == Target && deleting",
		To:   "deleting",
		Note: "machines are deleted while the control cluster does not answer; statement 6 holds, as a machine is read live before its instance is removed",
	},
	{
		ID: "connectivity/silence-at-once", File: "connectivity.go", Func: "State.silent",
		From: "patience += s.asleep()",
		To:   "patience = 0",
		Note: "everything freezes between two looks",
	},
	{
		ID: "approval/crowd-off-by-one", File: "decide.go", Func: "crowded",
		From: "q.f.Pending <= limit",
		To:   "q.f.Pending < limit",
		Note: "as many requests as may be pending are too many",
	},
	{
		ID: "approval/token-of-another", File: "client.go", Func: "tokenOfMachine",
		From: `q.f.TokenOwner != "" && q.f.TokenOwner != q.machine.Key()`,
		To:   "false",
		Note: "a machine joins with the token of another",
	},
	{
		ID: "approval/node-again", File: "client.go", Func: "nodeAbsent",
		From: "if !q.f.NodeExists {",
		To:   "if true {",
		Note: "a certificate is given for a node that exists",
	},
	{
		ID: "approval/leaving-joins", File: "client.go", Func: "machineStays",
		From: "if !q.machine.Deleting {",
		To:   "if true {",
		Note: "a machine that is being deleted joins",
	},
	{
		ID: "approval/groups-suffice", File: "client.go", Func: "requestorTrusted",
		From: `TokenID(q.f.Request) != "" && `,
		To:   "",
		Note: "any user in a bootstrapper group is trusted",
	},
	{
		ID: "approval/more-usages", File: "serving.go", Func: "sameSet",
		From: "len(a) != len(b)",
		To:   "len(a) < len(b)",
		Note: "a certificate is given for more usages than it may have",
	},
	{
		ID: "approval/foreign-address", File: "serving.go", Func: "addressesOfMachine",
		From: "if !q.machine.has(ip.String()",
		To:   "if false && !q.machine.has(ip.String()",
		Note: "a node gets a serving certificate for addresses of others",
	},
	{
		ID: "approval/late-joins", File: "client.go", Func: "insideJoinWindow",
		From: "age >= -ClockSkew && age <= JoinWindow",
		To:   "age >= -ClockSkew",
		Note: "a machine may join for ever",
	},
	{
		ID: "approval/more-organizations", File: "client.go", Func: "clientSubject",
		From: "len(s.Organization) != 1 || ",
		To:   "",
		Note: "a node gets a client certificate for further groups",
	},
	{
		ID: "approval/unsigned", File: "read.go", Func: "Verify",
		From: "err := c.CheckSignature(); err != nil",
		To:   "err := c.CheckSignature(); err != nil && false",
		Note: "a request counts of whose key the sender gives no proof",
	},
	{
		ID: "interruption/foreign-overwritten", File: "decide.go", Func: "Decide",
		From: "foreign(have, row.reason) || same",
		To:   "same",
		Note: "a condition that another program set is overwritten",
	},
	{
		ID: "interruption/silence-withdraws", File: "decide.go", Func: "Decide",
		From: "r.Clear[row.kind] && have",
		To:   "have",
		Note: "a notice is withdrawn because it was not read; no world has the termination handler",
	},
	{
		ID: "interruption/last-counts", File: "decide.go", Func: "goes",
		From: "n.At.Before(at)",
		To:   "n.At.After(at)",
		Note: "of several notices the last one sets the deadline",
	},
	{
		ID: "interruption/deadline-moves", File: "decide.go", Func: "goes",
		From: "return standing",
		To:   "return standing.Add(grace)",
		Note: "the deadline moves with each look",
	},
	{
		ID: "interruption/transition-anew", File: "decide.go", Func: "stamp",
		From: "have.Status == want.Status && ",
		To:   "",
		Note: "a condition that changes keeps the time of its last change",
	},
}
