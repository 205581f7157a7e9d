package mutants

// orphanMutants are in the decisions about instances without a machine.
var orphanMutants = []Mutant{
	{
		ID: "orphan/double-by-uid", File: "sweep.go", Func: "sweep.ref",
		From:      `i.UID == "" || s.listed.byUID[i.UID] > 1`,
		To:        `i.UID == ""`,
		Statement: 2, Note: "one of two instances with the same UID is removed by the UID, and the other instance with it",
		Like: "dying doubles",
	},
	{
		ID: "orphan/denied-is-complete", File: "listing.go", Func: "distrust",
		From:      "if l.Err != nil {",
		To:        "if false {",
		Statement: 6, Like: "forsaken", Note: "a listing that failed half-way counts as complete",
	},
	{
		ID: "orphan/leaving-unclaimed", File: "sweep.go", Func: "sweep.judge",
		From: "return m.Deleting",
		To:   "return false",
		Note: "the collector removes a second instance of a machine that is being deleted; statement 4 holds, because the drained instance is " +
			"recorded and therefore kept",
	},
	{
		ID: "orphan/recorded-by-uid-only", File: "sweep.go", Func: "sweep.judge",
		From:      "return m.records(i)",
		To:        "return m.UID == i.UID && m.records(i)",
		Statement: 2, Like: "tardy backups", Note: "an instance that a machine has recorded is removed because it carries another UID",
	},
	{
		ID: "orphan/early-unclaimed", File: "sweep.go", Func: "sweep.judge",
		From: `return m.Early || m.ProviderID == ""`,
		To:   "return false",
		Note: "the instance of a machine that has not recorded it yet is removed; statement 2 holds, because the collector removes a second instance only if the infrastructure shows another instance of the machine",
	},
	{
		ID: "orphan/unseen-ignored", File: "sweep.go", Func: "sweep.judge",
		From: "return !v.Begun && !s.shows(m, i)",
		To:   "return false",
		Note: "an instance is removed although the recorded instance of its machine is not listed; statement 2 holds, because the collector looks up the other instance before each removal",
	},
	{
		ID: "orphan/others-tags", File: "sweep.go", Func: "sweep.ours",
		From: "return len(names) == 0 ||",
		To:   "return len(names) >= 0 ||",
		Note: "instances of other clusters are removed; statement 2 holds, because no provider lists instances of other clusters",
	},
	{
		ID: "orphan/half-the-grace", File: "limits.go", Func: "sweep.sentence",
		From:      "case s.remaining(v) > 0",
		To:        "case s.remaining(v) > p.Grace/2",
		Statement: 2, Note: "an instance is removed after half of its grace period",
		Like: "frequent listings",
	},
	{
		ID: "orphan/one-more-per-hour", File: "limits.go", Func: "sweep.sentence",
		From: "begun >= p.PerHour",
		To:   "begun > p.PerHour",
		Note: "one instance more than PerHour is removed",
	},
	{
		ID: "orphan/mass-removal", File: "limits.go", Func: "sweep.sentence",
		From:      `case refusal != "" && !named:`,
		To:        "case false:",
		Statement: 2, Note: "the limit on the share that is removed at once has no effect",
	},
	{
		ID: "orphan/shrunk-is-believed", File: "scant.go", Func: "shrunk",
		From: "2*n < before",
		To:   "4*n < before",
		Note: "a listing with a third of the instances is trusted; statement 6 holds, because each removal looks up its own instance again",
	},
	{
		ID: "orphan/wanted-again-ignored", File: "sweep.go", Func: "Wanted",
		From: "again.Fate == Keep || again.Cause",
		To:   "again.Fate == Keep && again.Cause",
		Note: "an instance is removed although a machine wants it again; statement 2 holds, because no machine is recreated between two calls of one pass of the collector",
	},
	{
		ID: "orphan/gap-counts-whole", File: "memory.go", Func: "Memory.at",
		From: "now.Sub(m.Looked) <= longestGap(period)",
		To:   "true",
		Note: "time in which the collector did not run counts as grace period; statement 6 holds, because each removal reads the machines and looks up the instance again",
	},
}
