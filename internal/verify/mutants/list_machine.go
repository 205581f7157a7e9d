package mutants

// machineMutants are in the shell of the machine controller.
var machineMutants = []Mutant{
	{
		ID: "machine/create-from-cache", File: "behind.go", Func: "object.outdated",
		From:      "next.Step == lifecycle.Create && (!o.memory.versions.Known(o.m) || o.own.Hides(o.m.GetUID()))",
		To:        "false",
		Statement: 5, Finds: "TestNoInstanceForAMachineThatIsGone", Note: "an instance is asked for without a look at the machine itself",
		Like: "old successions",
	},
	{
		ID: "machine/create-after-a-restore", File: "behind.go", Func: "object.outdated",
		From:  " || o.own.Hides(o.m.GetUID())",
		To:    "",
		Finds: "TestNoInstanceBeforeItsFinalizer", Note: "an instance is asked for a machine whose finalizer a restore took away",
	},
	{
		ID: "machine/remove-from-cache", File: "behind.go", Func: "object.outdated",
		From:      "next.Step == lifecycle.Terminate && o.mem.removal.since.IsZero()",
		To:        "false",
		Statement: 3, Finds: "TestWantedAgain", Note: "an instance is removed without a look at the machine itself",
		Like: "undone",
	},
	{
		ID: "machine/forced-from-cache", File: "behind.go", Func: "object.outdated",
		From:  "next.Step == lifecycle.Drain && next.Force",
		To:    "false",
		Finds: "TestForcedForALeavingMachineOnly", Note: "pods are forced off the node of a machine that only the cache shows as being deleted",
	},
	{
		ID: "machine/gone-back-unseen", File: "behind.go", Func: "Reconciler.read",
		From:  "case !r.memory.versions.Older(m):",
		To:    "default:",
		Finds: "TestServerGoesBack", Note: "what is remembered of a machine outlives a server that went back, and nobody hears of it",
	},
	{
		ID: "machine/unanswered-forgotten", File: "memory.go", Func: "memory.of",
		From:  "r.tries.anew()",
		To:    "r.tries, r.request.err = tries{generation: r.tries.generation}, nil",
		Finds: "TestLostReplyIsNotForgotten", Note: "a new spec makes a Create without an answer be repeated at once; its token still stands in between",
	},
	{
		ID: "machine/copies-unseen", File: "whose.go", Func: "whose.contested",
		From:  `w.world.Instances.Looked || w.view.Recorded.ProviderID == ""`,
		To:    "true",
		Finds: "TestCopyLeavesTheNodeAlone", Note: "the node of a machine is taken by a copy of it, while the infrastructure cannot say whose it is",
	},
	{
		ID: "machine/node-from-cache", File: "query.go", Func: "whose.query",
		From:      "!w.view.Deleted.IsZero() || w.view.Preservation != (lifecycle.Preservation{})",
		To:        "w.view.Preservation != (lifecycle.Preservation{})",
		Statement: 4, Finds: "TestDrainsNodeThatCacheLacks", Note: "the node of a machine on its way out is looked up in the cache only",
		Like: "old drains",
	},
	{
		ID: "machine/unlocked-writes", File: "save.go", Func: "locked",
		From:      `metadata["resourceVersion"] = version`,
		To:        "_ = version",
		Statement: 5, Note: "a machine is written whatever was written to it meanwhile",
	},
	{
		ID: "machine/permits-for-all", File: "permits.go", Func: "permits.othersLocked",
		From:  "return ok && g.uid != uid",
		To:    "return ok && g.uid != uid && false",
		Finds: "TestPermitOutlastsTheCache", Note: "all machines of a group are given up in the same moment",
	},
	{
		ID: "machine/permits-end", File: "permits.go", Func: "permits.othersLocked",
		From:  "now.Sub(g.at) >= permitTime",
		To:    "true",
		Finds: "TestPermitOutlastsTheCache", Note: "a permit does not last until the cache shows what it was used for",
	},
	{
		ID: "machine/new-spec-waits", File: "memory.go", Func: "memory.of",
		From:  "r.tries.anew()",
		To:    "_ = r",
		Finds: "TestRetryDelay", Note: "a new spec is not tried before the pause for the old one is over",
	},
	{
		ID: "machine/account-not-asked", File: "instances.go", Func: "instances.elsewhere",
		From:      "return s.view.Recorded.Origin.Elsewhere(s.world.Session.Origin.Account)",
		To:        "return nil",
		Statement: 6, Finds: "TestAnotherAccount", Note: "an empty answer of another account is believed",
	},
	{
		ID: "machine/account-not-stored", File: "perform.go", Func: "pass.addFinalizer",
		From: `	switch {
	case p.view.Recorded.Provisioned || len(p.world.Instances.Owned()) > 0:
		p.onInstances(func(s *instances[M]) { s.noteAccount(ctx) })
	case !p.world.Instances.Looked:
		p.world.Session.Origin = lifecycle.Origin{}
	default:
		p.onInstances(func(s *instances[M]) { err = s.learnAccount(ctx) })
	}
	if err != nil {
		p.world.Session.Origin = lifecycle.Origin{}
		p.world.Retry = p.mem.tries.failed(lifecycle.Create, err, p.Clock.Now())
	}
`,
		To:        "",
		Statement: 6, Finds: "TestNoSecondInAnotherAccount", Note: "the account is not stored before an instance is asked for",
	},
	{
		ID: "machine/rivals-unseen", File: "instances.go", Func: "instances.claim",
		From:      "if i.UID == s.view.UID || !i.Exists() {",
		To:        "if true {",
		Statement: 2, Note: "the instance of another machine is taken",
		Like: "copied manifests",
	},
	{
		ID: "machine/scopes-mixed", File: "others.go", Func: "others.sharesScope",
		From: "c.Cluster == o.infra.class.Cluster",
		To:   `c.Cluster != ""`,
		Note: "a machine of another cluster counts as a rival",
	},
	{
		ID: "machine/removal-not-awaited", File: "instances.go", Func: "instances.terminate",
		From:      "case done:",
		To:        "case done || true:",
		Statement: 2, Note: "an instance counts as removed once its removal was asked for",
	},
	{
		ID: "machine/doubles-not-removed", File: "instances.go", Func: "instances.terminate",
		From:      "s.ref(), left.Owned())",
		To:        "s.ref(), left.Own)",
		Statement: 2, Note: "second instances of a machine are not removed with it",
		Like: "nameless twins",
	},
	{
		ID: "machine/forgotten-though-refused", File: "target_act.go", Func: "target.delete",
		From: `t.answers = append(t.answers, err)
	if err != nil {`,
		To: `t.answers = append(t.answers, err)
	if err != nil && false {`,
		Finds: "TestStaysUntilNodeIsDeleted", Note: "the machine is let go although its node could not be deleted",
	},
	{
		ID: "machine/group-unknown-is-lone", File: "permits.go", Func: "others.mayFail",
		From: `"group", group)
		return false`,
		To: `"group", group)
		return true`,
		Finds: "TestNobodyIsGivenUpUncounted", Note: "a machine is given up although the others of its group could not be counted; statement 6 breaks where a cache fails, which no world has",
	},
	{
		ID: "machine/failed-look-counts", File: "instances.go", Func: "instances.look",
		From:      "found.Looked, found.Err = false, err",
		To:        "found.Looked, found.Err = true, err",
		Statement: 6, Note: "a failed answer counts as an empty one",
	},
	{
		ID: "machine/failed-drain-is-done", File: "perform.go", Func: "pass.drain",
		From:      "came = drain.Decision{Message",
		To:        "came = drain.Decision{Done: true, Message",
		Statement: 4, Finds: "TestRowsOfGardenerForcedFailures", Note: "a drain that failed is done",
	},
	{
		ID: "machine/node-unheld-early", File: "target_drain.go", Func: "evacuation.cordonWith",
		From:  "if !vacant {",
		To:    "if false {",
		Finds: "TestNodeIsHeldWhilePodsRun", Note: "a node loses its finalizer while pods are on it; statement 4 breaks for pods that are left on a node which people delete; the simulator's judge does not look at a node's finalizer",
	},
	{
		ID: "machine/released-again", File: "reconciler.go", Func: "pass.finish",
		From:  "p.mem.released, err = p.Clock.Now(), nil",
		To:    "err = nil",
		Finds: "TestLetGoOnce", Note: "a machine that was let go is handled once more; statement 5 holds, as what is written to an object that has gone is refused",
	},
	{
		ID: "machine/handover-ignored", File: "instances.go", Func: "instances.unlisted",
		From:      "u.Arriving = s.Handover - now.Sub(s.began)",
		To:        "u.Arriving = 0",
		Statement: 2, Finds: "TestHandover", Note: "what the process before this one asked for is not waited for",
		Like: "succession",
	},
	{
		ID: "machine/other-choice-ignored", File: "instances.go", Func: "instances.unlisted",
		From:  "u.OtherChoice = s.otherChoice(u)",
		To:    "u.OtherChoice = 0",
		Finds: "TestOtherChoice", Note: "what the process before this one asked for in another zone is not waited for; statement 1 breaks in clouds that know a token in one zone, where the first zone has room again meanwhile",
	},
	{
		ID: "machine/nobody-was-before", File: "perform.go", Func: "pass.addFinalizer",
		From:  "|| !asked",
		To:    "|| !asked || true",
		Finds: "TestOtherChoiceIsOver", Note: "a machine that an original held counts as one for which nobody has asked",
	},
	{
		ID: "machine/new-ones-wait", File: "instances.go", Func: "instances.otherChoice",
		From:  "s.mem.request.first || !s.view.Asked()",
		To:    "false",
		Finds: "TestOtherChoiceOfNobody", Note: "what was declared while no process ran waits until listings would show what nobody asked for",
	},
	{
		ID: "machine/failures-uncounted", File: "remembered.go", Func: "tries.failed",
		From:  "n = r.retry.Failures + 1",
		To:    "n = 1",
		Finds: "TestTransientBackOff", Note: "pauses between attempts do not grow",
	},
	{
		ID: "machine/new-class-waits", File: "remembered.go", Func: "tries.madeFrom",
		From:  "r.anew()",
		To:    "_ = key",
		Finds: "TestNewClassNewTry", Note: "a new class is not tried before the pause for the old one is over",
	},
	{
		ID: "machine/correction-wakes-nobody", File: "corrected.go", Func: "awaitsCorrection",
		From:  "!failed || out.After <= enqueue.CorrectionPause",
		To:    "true",
		Finds: "TestCorrected", Note: "a machine whose credentials were corrected waits for its pause to end",
	},
	{
		ID: "machine/refusals-never-end", File: "remembered.go", Func: "removal.refused",
		From:  "r.refusedSince = time.Time{}",
		To:    "_ = now",
		Finds: "TestPatienceBeginsAnew",
		Note:  "a success does not end the time for which the cluster has refused; it matters to machines alone that a person forces, whose drain is excluded",
	},
	{
		ID: "machine/unsaved-is-told", File: "reconciler.go", Func: "pass.finish",
		From:  "err := p.object().record(ctx, out)",
		To:    "p.mem.heard(out)\n\terr := p.object().record(ctx, out)",
		Finds: "TestUnsavedIsToldLater", Note: "what a pass could not save counts as told",
	},
	{
		ID: "machine/told-for-ever", File: "save.go", Func: "object.unsaved",
		From:  "if now := o.Clock.Now(); refusal.News(now) {",
		To:    "if now := o.Clock.Now(); refusal.Told.IsZero() {",
		Finds: "TestRefusedIsToldAnew", Note: "an event that is forgotten after an hour is the last word",
	},
	{
		ID: "machine/new-instance-unheard", File: "instances.go", Func: "instances.create",
		From:  "made.ProviderStatus = s.saw(ctx, i)",
		To:    "_ = i",
		Note:  "what a new instance says is not recorded in the same pass",
		Finds: "TestDurationsAreForgotten",
	},
}
