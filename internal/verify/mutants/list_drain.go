package mutants

// drainMutants are in the decisions of a drain.
var drainMutants = []Mutant{
	{
		ID: "drain/pods-without-controller-lost", File: "unmanaged.go", Func: "Unmanaged",
		From:  "metav1.GetControllerOfNoCopy(q.pod) == nil",
		To:    "false",
		Finds: "TestUnmanaged", Note: "a drain from the page deletes pods that no controller creates again",
	},
	{
		ID: "drain/unclear-holds-no-turn", File: "turn.go", Func: "serialTurn",
		From: "(q.attempt.Accepted || q.attempt.Unclear) && q.tooEarly()",
		To:   "q.attempt.Accepted && q.tooEarly()",
		Note: "the next pod with a volume is evicted while the result of the eviction before is unknown",
	},
	{
		ID: "drain/done-while-waiting", File: "drain.go", Func: "Decide",
		From:      "+len(d.Waiting)+len(d.Blocked) == 0",
		To:        "+len(d.Blocked) == 0",
		Statement: 4, Note: "a drain is done while pods terminate",
	},
	{
		ID: "drain/done-while-blocked", File: "drain.go", Func: "Decide",
		From:      "len(d.Waiting)+len(d.Blocked) == 0",
		To:        "len(d.Waiting) == 0",
		Statement: 4, Note: "a drain is done while pods are blocked",
	},
	{
		ID: "drain/owned-pods-stay", File: "pod.go", Func: "input.stays",
		From:      `owner.Kind == "DaemonSet"`,
		To:        `owner.Kind != ""`,
		Statement: 4, Note: "pods with a controller are left on the node",
	},
	{
		ID: "drain/terminating-is-stuck", File: "pod.go", Func: "input.overstays",
		From: "case q.now.Before(end):",
		To:   "case false:",
		Note: "a pod counts as stuck before its grace period is over; statement 4 holds, because the other waits begin at the end of the pod or later",
	},
	{
		ID: "drain/deadline-is-now", File: "deadline.go", Func: "Policy.Past",
		From: "p.hurried() && !now.Before(p.Deadline)",
		To:   "p.hurried()",
		Note: "a termination deadline ends the drain before the deadline; statement 4 could break if terminations are announced, which no world has",
	},
	{
		ID: "drain/forced-unasked", File: "deadline.go", Func: "Policy.forces",
		From: "p.hurried() && p.ForceLate && ",
		To:   "p.hurried() && ",
		Note: "pods are deleted before the deadline although no user requested that; statement 4 could break if terminations are announced, which no world has",
	},
	{
		ID: "drain/refusals-off-by-one", File: "pod.go", Func: "input.deletes",
		From: "q.attempt.Refusals >= p.MaxEvictAttempts",
		To:   "q.attempt.Refusals > p.MaxEvictAttempts",
		Note: "one eviction more than MaxEvictAttempts is tried",
	},
	{
		ID: "drain/order-ignored", File: "turn.go", Func: "input.waitsFor",
		From: "n > q.turns.order",
		To:   "n > q.turns.order+1000",
		Note: "pods with a higher drain order do not wait for others",
	},
	{
		ID: "drain/old-budget-believed", File: "budget.go", Func: "Room",
		From: "b.Status.ObservedGeneration < b.Generation",
		To:   "false",
		Note: "an outdated status of a budget counts as an allowed eviction",
	},
	{
		ID: "drain/left-before-it-left", File: "volume.go", Func: "Memory.Seen",
		From: "case v.Detached.IsZero() && !v.Left.IsZero():",
		To:   "case v.Detached.IsZero():",
		Note: "a volume that is still in use counts as detached",
	},
	{
		ID: "drain/force-keeps-grace", File: "pod.go", Func: "input.grace",
		From: "min(q.ownGrace(), cmp.Or(p.ForceGracePeriod, DefaultForceGrace))",
		To:   "q.ownGrace()",
		Note: "a forced drain waits for the pods' own grace periods",
	},
}
