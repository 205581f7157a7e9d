package mutants

// disruptionMutants are in the disruption budgets: their decisions, the ledger that writes permits, and the place that asks.
var disruptionMutants = []Mutant{
	{
		ID: "disruption/one-too-many", File: "decide.go", Func: "Budget.Decide",
		From:  "u.InUse+a.Ahead < most",
		To:    "u.InUse+a.Ahead <= most",
		Finds: "TestDecide", Note: "a budget permits one disruption more than it allows",
	},
	{
		ID: "disruption/permit-taken-away", File: "decide.go", Func: "Budget.Decide",
		From:  "case a.Holds:",
		To:    "case a.Holds && !b.paused:",
		Finds: "TestDecide", Note: "an emergency stop leaves half-drained nodes behind",
	},
	{
		ID: "disruption/first-limit-counts", File: "decide.go", Func: "Budget.tightest",
		From:  "n < most ||",
		To:    "false ||",
		Finds: "TestDecide", Note: "the first limit counts, and not the smallest",
	},
	{
		ID: "disruption/recorded-cause-ignored", File: "reason.go", Func: "ReasonOf",
		From:  "return c.Recorded",
		To:    "return c.Owner.reason()",
		Finds: "TestReasonOf", Note: "a scale-down that waits becomes Manual when its set creates another machine",
	},
	{
		ID: "disruption/interruption-waits", File: "budget.go", Func: "limit.about",
		From:  "return r != v1alpha1.ReasonInterruption",
		To:    "return true",
		Finds: "TestDecide", Note: "pods stay on an instance that the cloud ends",
	},
	{
		ID: "disruption/hour-repeated-once", File: "cron.go", Func: "same",
		From:  "range changes {",
		To:    "range changes[:1] {",
		Finds: "TestScheduleLatest", Note: "a window in the hour that is repeated in autumn begins in only one of the two",
	},
	{
		ID: "disruption/next-window-late", File: "cron.go", Func: "Schedule.firstOf",
		From:  "begin.Before(first)",
		To:    "begin.After(first)",
		Finds: "TestScheduleNext", Note: "users are told that a window begins later than it does",
	},
	{
		ID: "disruption/stop-looks-temporary", File: "decide.go", Func: "Budget.stop",
		From:  "a.Stopped = true",
		To:    "a.Stopped = false",
		Finds: "TestStopped", Note: "a plan promises that machines leave during an emergency stop, and a drain of the page waits instead of being refused",
	},
	{
		ID: "disruption/rounded-down", File: "budget.go", Func: "amount.of",
		From:  "(machines*a.n + 99) / 100",
		To:    "machines * a.n / 100",
		Finds: "TestDecide", Note: "10% of 5 machines are none, and a small fleet is never rolled",
	},
	{
		ID: "disruption/counted-twice", File: "status.go", Func: "Machines",
		From:  "|| !slices.Contains(all, o.API)",
		To:    "|| true",
		Finds: "TestMachines", Note: "a machine that two controllers see counts twice, so a percentage allows too many",
	},
	{
		ID: "ledger/lost-lock", File: "store.go", Func: "store.write",
		From:  "client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})",
		To:    "client.MergeFrom(before)",
		Finds: "TestWritesAreLocked", Note: "two processes use the same permit",
	},
	{
		ID: "ledger/kept-permits", File: "ledger.go", Func: "Ledger.Ask",
		From:  "l.budgets.giveBack(ctx, m.GetUID(), taken)",
		To:    "_ = taken",
		Finds: "TestEachBudgetMustPermit", Note: "a machine that waits for one budget blocks another",
	},
	{
		ID: "ledger/silence-releases", File: "due.go", Func: "fleet.exists",
		From:  "return false, false, client.IgnoreNotFound(err)",
		To:    "return false, false, nil",
		Finds: "TestSweep", Note: "an API server that does not answer ends all disruptions at once",
	},
	{
		ID: "ledger/unreadable-permits", File: "ledger.go", Func: "Ledger.failed",
		From:  "Permitted: begun,",
		To:    "Permitted: true,",
		Finds: "TestUnreadableBudgetsHold", Note: "without the right to read budgets there are none",
	},
	{
		ID: "ledger/youngest-overtakes", File: "due.go", Func: "Ledger.ahead",
		From:  "w.compare(q.since, q.machine.GetUID()) < 0",
		To:    "false",
		Finds: "TestOldestFirst", Note: "the machine that asks at the right moment gets the permit, and another may wait for ever",
	},
	{
		ID: "lifecycle/budget-ignored", File: "disruption.go", Func: "budgetHolds",
		From:  "permitted(q) || q.m.Deletion.Force",
		To:    "true || q.m.Deletion.Force",
		Finds: "TestBudgetsBeforeTheDrain", Note: "drains begin without a permit",
	},
	{
		ID: "lifecycle/unreadable-node-is-drain", File: "started_step.go", Func: "Outcome.stands",
		From:  "o.World.Disruption.Governed && !o.World.Disruption.Permitted",
		To:    "false",
		Finds: "TestUnreadableNodeIsNoDrain", Note: "a node that could not be read once, and that a user has cordoned, is drained without a permit",
	},
	{
		ID: "lifecycle/nodeless-takes-permit", File: "disruption.go", Func: "Disrupted",
		From:  "begun(q) && !nodeless",
		To:    "begun(q) && (!nodeless || true)",
		Finds: "TestDisrupted", Note: "the deletion of a machine without a node takes a permit, and holds up other machines",
	},
	{
		ID: "lifecycle/budget-wait-is-drain", File: "disruption.go", Func: "drainSince",
		From:  "if q.m.Since(DeletionBudget).IsZero() {",
		To:    "if true {",
		Finds: "TestDrainTimeoutAfterBudget", Note: "a machine that has waited for a night is drained by force",
	},
	{
		ID: "lifecycle/update-unasked", File: "update.go", Func: "markDue",
		From:  "due == inplace.MarkSelected && !permitted(q)",
		To:    "false",
		Finds: "TestBudgetsBeforeUpdatesAndReboots", Note: "updates in place begin without a permit",
	},
	{
		ID: "openshift/drained-while-it-waits", File: "record.go", Func: "drained",
		From:  ", o.Reason == lifecycle.ReasonDisruptionBudget",
		To:    "",
		Finds: "TestExcludedDrainWaits", Note: "a machine without a drain is recorded as drained while it waits, and its instance is terminated without a permit",
	},
}
