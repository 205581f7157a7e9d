package mutants

// orphanMutants are in the verdicts on instances without a machine.
var orphanMutants = []Mutant{
	{
		ID: "orphan/double-by-uid", File: "sweep.go", Func: "sweep.ref",
		From:      `i.UID == "" || s.listed.byUID[i.UID] > 1`,
		To:        `i.UID == ""`,
		Statement: 2, Note: "one of two instances with a UID is removed by the UID, and the other with it",
		Like: "dying doubles",
	},
	{
		ID: "orphan/denied-is-complete", File: "listing.go", Func: "distrust",
		From:      "if l.Err != nil {",
		To:        "if false {",
		Statement: 6, Like: "forsaken", Note: "a listing that failed half-way is taken for a complete one",
	},
	{
		ID: "orphan/leaving-unclaimed", File: "sweep.go", Func: "sweep.judge",
		From: "return m.Deleting",
		To:   "return false",
		Note: "a double of a machine that is being deleted is removed by the collector; statement 4 holds, as the instance that is drained is " +
			"recorded, and kept by that",
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
		Note: "the instance of a machine that has not recorded it yet is removed; statement 2 holds, as the collector removes a second instance only where the infrastructure shows another of its machine",
	},
	{
		ID: "orphan/unseen-ignored", File: "sweep.go", Func: "sweep.judge",
		From: "return !v.Begun && !s.shows(m, i)",
		To:   "return false",
		Note: "an instance goes although the one that its machine has recorded is not seen; statement 2 holds, as the collector asks the infrastructure for the other one before each removal",
	},
	{
		ID: "orphan/others-tags", File: "sweep.go", Func: "sweep.ours",
		From: "return len(names) == 0 ||",
		To:   "return len(names) >= 0 ||",
		Note: "instances of other clusters are removed; statement 2 holds, as no provider lists instances of other clusters",
	},
	{
		ID: "orphan/half-the-grace", File: "limits.go", Func: "sweep.sentence",
		From:      "case s.remaining(v) > 0",
		To:        "case s.remaining(v) > p.Grace/2",
		Statement: 2, Note: "an instance is removed after half of its grace",
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
		Statement: 2, Note: "the limit on the share removed at once stops nothing",
	},
	{
		ID: "orphan/shrunk-is-believed", File: "scant.go", Func: "shrunk",
		From: "2*n < before",
		To:   "4*n < before",
		Note: "a listing with a third of the instances is believed; statement 6 holds, as each removal looks for its own instance again",
	},
	{
		ID: "orphan/wanted-again-ignored", File: "sweep.go", Func: "Wanted",
		From: "again.Fate == Keep || again.Cause",
		To:   "again.Fate == Keep && again.Cause",
		Note: "an instance that is wanted again is removed all the same; statement 2 holds, as no machine comes back between two calls of one pass of the collector",
	},
	{
		ID: "orphan/gap-counts-whole", File: "memory.go", Func: "Memory.at",
		From: "now.Sub(m.Looked) <= longestGap(period)",
		To:   "true",
		Note: "the time in which nobody looked counts as grace; statement 6 holds, as each removal reads the machines and looks for the instance again",
	},
}
