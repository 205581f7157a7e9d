package mutants

// rolloutMutants are in the arithmetic of rollouts.
var rolloutMutants = []Mutant{
	{
		ID: "rollout/one-more-unavailable", File: "bounds.go", Func: "Bounds",
		From:      "min(unavailable, d.Replicas)",
		To:        "min(unavailable+1, d.Replicas)",
		Statement: 3, Note: "one machine more than maxUnavailable may be missing",
	},
	{
		ID: "rollout/one-more-surge", File: "setstate.go", Func: "input.room",
		From:      "q.d.Replicas+q.surge-q.total()",
		To:        "q.d.Replicas+q.surge+1-q.total()",
		Statement: 3, Note: "there is one machine more than maxSurge",
	},
	{
		ID: "rollout/canary-unprotected", File: "rolling.go", Func: "input.shrinkOld",
		From: `	budget = min(budget, sum(q.old, wanted)-(q.d.Replicas-min(q.limit, q.d.Replicas)))
`,
		To:   "",
		Note: "a canary does not protect the old machines",
	},
	{
		ID: "rollout/coming-counted", File: "rolling.go", Func: "input.shrinkOld",
		From: "q.floor() - coming",
		To:   "q.floor() - 0*coming",
		Note: "new machines count before they are available; statement 3 holds, because a later bound keeps the working machines, and a machine that does not work is not missed",
	},
	{
		ID: "rollout/leaving-takes-no-room", File: "setstate.go", Func: "setState.maxMachines",
		From:      "if p.LeavingTakesRoom {",
		To:        "if false {",
		Statement: 3, Note: "machines in deletion make room for new machines at once",
	},
	{
		ID: "rollout/frozen-grows", File: "setstate.go", Func: "input.scale",
		From: `n > b.want.Replicas && q.d.Frozen != ""`,
		To:   "false",
		Note: "sets grow while the deployment is frozen",
	},
	{
		ID: "rollout/chosen-forgotten", File: "setstate.go", Func: "setState.chosen",
		From: "return max(0, b.living-b.expected)",
		To:   "return 0",
		Note: "machines count that their set has already chosen to delete; statement 3 holds, because a set chooses and deletes in one reconcile, and no machine recovers in it",
	},
	{
		ID: "rollout/unobserved-grows", File: "setstate.go", Func: "input.room",
		From:      "if !q.heeded(q.all) {",
		To:        "if false {",
		Statement: 3, Note: "a set that has not seen its last size yet counts with its old status",
		Like: "late sizes",
	},
	{
		ID: "rollout/unheard-alone", File: "rescale.go", Func: "input.alone",
		From: "q.heeded(q.except(b))",
		To:   "true",
		Note: "while the deployment is paused, a set grows beside a set that has not seen its size yet; it takes more than 500 worlds of \"late sizes\" to break statement 3",
	},
	{
		ID: "rollout/recreate-early", File: "rolling.go", Func: "input.recreate",
		From:      "case q.cleared():",
		To:        "case true:",
		Statement: 3, Note: "Recreate creates new machines while old machines exist",
	},
	{
		ID: "rollout/on-delete-unready", File: "rolling.go", Func: "input.onDelete",
		From: "min(q.current.want.Replicas, q.current.available)",
		To:   "q.current.want.Replicas",
		Note: "OnDelete deletes machines for new ones that do not work yet; statement 3 holds, because OnDelete promises no number of working machines",
	},
	{
		ID: "rollout/kept-counts-for-floor", File: "setstate.go", Func: "input.floor",
		From: "-missed)",
		To:   "-0*missed)",
		Note: "failed machines that are kept for inspection stop a rollout",
	},
	{
		ID: "rollout/earlier-failures-lower-the-floor", File: "setstate.go", Func: "input.floor",
		From:  "serving > 1",
		To:    "false",
		Finds: "TestBoundIsNotLoweredByWhatTheRolloutBreaks", Note: "failed machines that are kept from an earlier rollout let the next rollout delete working machines",
	},
	{
		ID: "rollout/broken-ones-lower-the-floor", File: "setstate.go", Func: "input.floor",
		From:      "-missed)",
		To:        "-0*missed-sum(q.all, func(b *setState) int { return b.kept }))",
		Statement: 3, Like: "kept failures",
		Finds: "TestBoundIsNotLoweredByWhatTheRolloutBreaks", Note: "failed machines of the new template that are kept let the rollout delete working machines",
	},
}
