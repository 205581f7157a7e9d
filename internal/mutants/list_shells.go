package mutants

// shellMutants are in the other shells, and in what they share.
var shellMutants = []Mutant{
	{
		ID: "machineset/created-forgotten", File: "scale.go", Func: "pass.enterCreated",
		From:      "p.ledger.Created(now, a.made.GetUID())",
		To:        "_ = now",
		Statement: 5, Note: "a set does not expect the machines that it made",
	},
	{
		ID: "machineset/unsure-forgotten", File: "scale.go", Func: "pass.createOne",
		From:      "a.unsure = true",
		To:        "a.unsure = false",
		Statement: 5, Finds: "TestLostReply", Note: "a machine whose creation got no answer is made again under another name",
	},
	{
		ID: "machineset/deletes-from-cache", File: "pass.go", Func: "pass.decide",
		From:      "if d.Create > 0 && p.ledger.Trusted() && !overdue {",
		To:        "if p.ledger.Trusted() && !overdue {",
		Statement: 5, Finds: "TestSurplusIsCountedLive", Note: "machines are chosen for deletion from the cache",
	},
	{
		ID: "machineset/expectations-ignored", File: "pass.go", Func: "pass.decide",
		From:      "p.ledger.Trusted() && !p.ledger.Settled() && !overdue {",
		To:        "p.ledger.Settled() && left < 0 {",
		Statement: 5, Note: "a set acts before the cache shows what it did",
	},
	{
		ID: "machineset/doom-forgotten", File: "scale.go", Func: "pass.delete",
		From:      "p.ledger.Doom(v.UID)",
		To:        "_ = v",
		Statement: 5, Finds: "TestUnansweredDeletionIsRepeated", Note: "after a deletion without an answer another machine is chosen",
	},
	{
		ID: "machineset/takes-namesakes", File: "scale.go", Func: "pass.recognise",
		From:      "; !ours {",
		To:        "; !ours && false {",
		Statement: 3, Finds: "TestNameOfAStranger", Note: "a machine of somebody else with the chosen name counts as made",
	},
	{
		ID: "machineset/guard-alone", File: "guard.go", Func: "pass.guarded",
		From:  "p.set.Guard.Elsewhere = elsewhere",
		To:    "_ = elsewhere",
		Finds: "TestGuardWeighsTheWholeDeployment", Note: "each set of a deployment has the whole limit on mass deletion for itself",
	},
	{
		ID: "machineset/kept-past-outage", File: "observe.go", Func: "pass.spare",
		From:      "m.Keep.Until = p.now.Add(sight.Settle)",
		To:        "_ = until",
		Statement: 6, Finds: "TestPreservedThroughAnOutage", Note: "a machine whose time to be kept ended during an outage goes at once",
	},
	{
		ID: "machinedeployment/marks-from-cache", File: "pass.go", Func: "pass.decide",
		From:      "if !p.plan.ByMarks {",
		To:        "if true {",
		Statement: 3, Finds: "TestMarksAreAsNewAsTheNumber", Note: "marks are not read again before a set gets a smaller number",
	},
	{
		ID: "machinedeployment/disagreement-forgotten", File: "observe.go", Func: "pass.settle",
		From:      "overdue || !p.agreed || p.facts",
		To:        "overdue || p.facts",
		Statement: 5, Finds: "TestOwnGrowthIsSeen", Note: "sets are read from the cache after it disagreed with the API server",
	},
	{
		ID: "machinedeployment/victims-unmarked", File: "pass.go", Func: "pass.carryOut",
		From:      "p.amend, p.markVictims, p.create",
		To:        "p.amend, p.create",
		Statement: 3, Note: "a set is made smaller before it is told which machines go",
	},
	{
		ID: "machinedeployment/shield-stays", File: "pass.go", Func: "pass.carryOut",
		From:  "p.dress, p.amend, p.unshield, p.prune",
		To:    "p.dress, p.amend, p.prune",
		Finds: "TestHandedOverIsReleased", Note: "a machine that was handed over is never released",
	},
	{
		ID: "machinedeployment/adopts-while-leaving", File: "claim.go", Func: "pass.adopt",
		From:  "now.GetUID() != p.facts.UID || now.GetDeletionTimestamp() != nil",
		To:    "now.GetUID() != p.facts.UID",
		Finds: "TestAdoptAsksFirst", Note: "a deployment on its way out adopts sets",
	},
	{
		ID: "machinedeployment/prunes-unseen", File: "carry.go", Func: "pass.deleteSet",
		From:      "if !p.facts.Deleting {",
		To:        "if false {",
		Statement: 5, Finds: "TestPruneMeansWhatWasSeen", Note: "an old set is deleted although it was scaled up meanwhile",
	},
	{
		ID: "machinehealthcheck/unconfirmed", File: "act.go", Func: "pass.do",
		From:      "if c.Confirm {",
		To:        "if false {",
		Statement: 6, Note: "what was seen before an outage is acted on without another look",
	},
	{
		ID: "machinehealthcheck/leaving-remedied", File: "act.go", Func: "pass.still",
		From: "m.GetUID() != t.UID || m.GetDeletionTimestamp() != nil",
		To:   "m.GetUID() != t.UID",
		Note: "a machine that is being deleted is remedied",
	},
	{
		ID: "machinehealthcheck/unremembered", File: "pass.go", Func: "pass.run",
		From: "if err := p.note(ctx, before); err != nil {",
		To:   "if err := p.note(ctx, before); err != nil && false {",
		Note: "a machine is remedied although that could not be remembered",
	},
	{
		ID: "machinehealthcheck/node-not-read", File: "act.go", Func: "pass.still",
		From:      "if n != nil || err != nil {",
		To:        "if n != nil && false || err != nil {",
		Statement: 6, Note: "a machine is remedied for a node that only the cache does not show",
	},
	{
		ID: "machinehealthcheck/remedied-unlooked", File: "ward.go", Func: "pass.observe",
		From:  "changed || c || p.ward.remedied[name]",
		To:    "changed || c",
		Finds: "TestMarkedAgain", Note: "a mark that came and went unseen is the last one",
	},
	{
		ID: "collector/last-one-goes", File: "act.go", Func: "Collector.objection",
		From:      "return c.lastOne(ctx, s, v)",
		To:        `return "", nil`,
		Statement: 2, Note: "the last instance of a machine is removed as a second one",
	},
	{
		ID: "collector/itself-is-other", File: "act.go", Func: "Collector.lastOne",
		From:      "o.ID != v.Instance.ID && ",
		To:        "",
		Statement: 2, Note: "an instance counts as the other one of its machine",
	},
	{
		ID: "collector/broken-listing", File: "collector.go", Func: "Collector.list",
		From:      "l.Err = err",
		To:        "_ = err",
		Statement: 6, Note: "a listing that failed half-way is taken for a complete one",
	},
	{
		ID: "collector/machines-unknown", File: "act.go", Func: "live.machines",
		From: `l.at = time.Time{}
			return nil, err`,
		To:        "continue",
		Statement: 6, Note: "machines of a kind that could not be listed do not exist",
	},
	{
		ID: "collector/wanted-again", File: "act.go", Func: "Collector.objection",
		From:      `orphan.Wanted(v, machines); why != ""`,
		To:        `orphan.Wanted(v, machines); why != "" && false`,
		Statement: 2, Note: "an instance goes although a machine has it by now",
	},
	{
		ID: "collector/node-from-cache", File: "nodes.go", Func: "Nodes.Reconcile",
		From:      "if act == orphan.Disown {",
		To:        "if false {",
		Statement: 5, Note: "a node is disowned by what the cache shows",
	},
	{
		ID: "csr/node-from-cache", File: "controller.go", Func: "Approver.observeJoining",
		From:      "nodeExists(ctx, a.Live,",
		To:        "nodeExists(ctx, a.Client,",
		Statement: 5, Note: "a certificate is given for a node that the cache does not show yet",
	},
	{
		ID: "csr/failed-look-is-absent", File: "controller.go", Func: "nodeExists",
		From:      "err != nil && !apierrors.IsNotFound(err)",
		To:        "false",
		Statement: 6, Note: "a node that could not be read does not exist",
	},
	{
		ID: "wake/labels-unheard", File: "wake.go", Func: "Asked",
		From: "!maps.Equal(before.GetLabels(), after.GetLabels())",
		To:   "false",
		Note: "a change of labels wakes nobody",
	},
	{
		ID: "wake/deletion-unheard", File: "wake.go", Func: "Asked",
		From: "(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)",
		To:   "false",
		Note: "a deletion wakes nobody",
	},
	{
		ID: "expect/gone-forgotten", File: "ledger.go", Func: "Ledger.Gone",
		From: `	l.gone = put(l.gone, uid)
`,
		To:        "",
		Statement: 5, Note: "a deleted machine counts while the cache shows it",
	},
	{
		ID: "expect/unsure-is-trusted", File: "ledger.go", Func: "Ledger.Unsure",
		From: `	l.trusted = false
`,
		To:        "",
		Statement: 5, Note: "the cache is trusted after a creation without an answer",
	},
	{
		ID: "expect/going-is-gone", File: "ledger.go", Func: "Ledger.Seen",
		From:      "!listed || g {",
		To:        "!listed || g && false {",
		Statement: 5, Note: "a machine that waits for its finalizers is expected for ever",
	},
	{
		ID: "leading/one-clock", File: "term.go", Func: "Term.age",
		From:      "max(now.Sub(t.renewed), now.Round(0).Sub(t.renewed.Round(0)))",
		To:        "now.Sub(t.renewed)",
		Statement: 5, Note: "a process that was suspended takes itself for the leader",
	},
	{
		ID: "leading/wall-clock", File: "term.go", Func: "Term.age",
		From:      "max(now.Sub(t.renewed), now.Round(0).Sub(t.renewed.Round(0)))",
		To:        "now.Round(0).Sub(t.renewed.Round(0))",
		Statement: 5, Note: "a process whose wall clock was set back takes itself for the leader",
	},
	{
		ID: "leading/given-up-unheard", File: "term.go", Func: "Term.Ended",
		From:      "t.Renewed(time.Time{})",
		To:        "_ = time.Time{}",
		Statement: 5, Note: "a process goes on writing when it has given its lease up",
	},
	{
		ID: "run/set-back-unnoticed", File: "lookout.go", Func: "Lookout.setBack",
		From: "ahead >= *was-mostSetBack",
		To:   "mostSetBack > 0",
		Note: "nobody notices that the clock of the API server was set back",
	},
}
