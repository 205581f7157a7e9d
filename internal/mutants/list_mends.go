package mutants

// mendMutants undo what was mended because the world outside proved it wrong: owners, accounts, nodes that speak against an
// infrastructure, clocks that are set, servers that go back, and input that nobody in their senses would send.
var mendMutants = []Mutant{
	{
		ID: "dialect/origin-ignored", File: "origin.go", Func: "Locate",
		From:      `err == nil && ok && o.Cluster != "" && (o.of(m) || recorded)`,
		To:        "err == nil && ok && false",
		Statement: 1, Finds: "TestLocate", Note: "an instance is looked for where the labels say now",
	},
	{
		ID: "openshift/old-drain-counts", File: "machine.go", Func: "isDrained",
		From:      "c.Status == corev1.ConditionTrue && (m.DeletionTimestamp == nil || !c.LastTransitionTime.Before(m.DeletionTimestamp))",
		To:        "c.Status == corev1.ConditionTrue",
		Statement: 4, Note: "a drain from before the deletion, as of a restored object, counts for it",
	},
	{
		ID: "lifecycle/witness-ignored", File: "evidence.go", Func: "World.witness",
		From:      "!w.NodeLooked || Ready(n).Status != corev1.ConditionTrue",
		To:        "true",
		Statement: 6, Note: "an empty answer is believed against a Ready node",
	},
	{
		ID: "lifecycle/contradicted-goes", File: "remove.go", Func: "removal",
		From: `	contradicted,
`,
		To:        "",
		Statement: 2, Note: "a machine goes although its node reports that the instance is there",
	},
	{
		ID: "node/namesakes-node", File: "find.go", Func: "Query.otherInstance",
		From: "return !q.Instance",
		To:   "return false",
		Note: "a machine without an instance takes the node of its namesake; statement 4 holds, as the controller asks besides what is listed under the node's name",
	},
	{
		ID: "node/forged-record", File: "owned.go", Func: "Want.owned",
		From: "if w.Owned != nil {",
		To:   "if false {",
		Note: "what a kubelet writes about what was applied is believed",
	},
	{
		ID: "orphan/two-looks", File: "limits.go", Func: "sweep.remaining",
		From: "time.Duration(looks-v.seen)*s.policy.Period",
		To:   "0",
		Note: "two listings satisfy the grace period; statement 2 is not asked of it, as the judge asks for the grace period, at whose ends two looks are",
	},
	{
		ID: "orphan/others-collected", File: "whose.go", Func: "sweep.bar",
		From:      "case owner != s.policy.Owner:",
		To:        "case false:",
		Statement: 2, Finds: "TestOwners", Note: "what another control plane made is removed",
	},
	{
		ID: "orphan/unowned-collected", File: "whose.go", Func: "sweep.bar",
		From:  `case owner == "":`,
		To:    "case false:",
		Finds: "TestOwners", Note: "what does not say who made it is removed; statement 2 holds, as what does not say who made it counts as another's",
	},
	{
		ID: "orphan/ready-node-collected", File: "limits.go", Func: "sweep.sentence",
		From: `case ready != "" && !named:`,
		To:   "case false:",
		Note: "an instance that works goes with its pods",
	},
	{
		ID: "sight/step-counts", File: "sight.go", Func: "State.saw",
		From: "case skipped > s.asleep():",
		To:   "case false && skipped > s.asleep():",
		Note: "an hour by which the API server's clock is set runs for all timers", // those of the simulator keep time
	},
	{
		ID: "approval/key-of-any-size", File: "read.go", Func: "Read",
		From: "bits > mostBits",
		To:   "bits < 0",
		Note: "a key of a million bits is verified",
	},
	{
		ID: "csr/granted-by-the-cache", File: "controller.go", Func: "Approver.decide",
		From:      "d.Verdict != approval.Approve ||",
		To:        "true ||",
		Statement: 5, Note: "a second node gets the identity of a machine whose node has joined, while a cache is behind",
		Like: "papers",
	},
	{
		ID: "machine/latest-of-the-name", File: "approval.go", Func: "Reconciler.Latest",
		From: "err == nil && string(m.GetUID()) != shown.UID",
		To:   "false",
		Note: "a certificate is granted by what the next machine of the name is",
	},
	{
		ID: "lifecycle/released-is-underway", File: "health.go", Func: "Machine.underway",
		From: "return m.Held",
		To:   "return true",
		Note: "a lost machine is not given up while somebody else holds another of its group that is gone",
	},
	{
		ID: "orphan/namesake-elsewhere", File: "claims.go", Func: "census.owning",
		From: ` && !m.Elsewhere`,
		To:   "",
		Note: "what a lost machine left behind is kept for ever by a namesake whose instance is elsewhere",
	},
	{
		ID: "collector/known-nowhere", File: "collector.go", Func: "Collector.machines",
		From: "other.machines[m.UID]",
		To:   "!s.machines[m.UID]",
		Note: "a machine whose class cannot be opened counts as one of another scope",
	},
	{
		ID: "machine/token-goes-with-any-node", File: "userdata.go", Func: "pass.dropToken",
		From:  " && p.world.Node != nil",
		To:    "",
		Finds: "TestTokenOutlivesAnOlderNode", Note: "an instance cannot join, since a node that was another's is gone",
	},
	{
		ID: "lifecycle/drained-again-forgotten", File: "remove.go", Func: "Emptied",
		From:      ` && n.Annotations[DrainedAgainAnnotation] == ""`,
		To:        "",
		Statement: 4, Note: "a drained node that took pods again is cordoned, and its instance goes under them",
		Like: "uncordoned",
	},
	{
		ID: "machine/listing-never-behind", File: "whose.go", Func: "pass.isAnothers",
		From:  "p.world.ReadLag > 0 && l.at.Before(shown)",
		To:    "false",
		Finds: "TestForgedNodeOfAnUnlistedInstance", Note: "a kubelet whose instance is not listed yet is taken for another machine's",
	},
	{
		ID: "machine/names-by-the-cache", File: "observe.go", Func: "pass.hasAnother",
		From:  "if p.memory.hasNamed(p.view.UID, name) {",
		To:    "if false {",
		Finds: "TestForgedNodeOfAnUnseenName", Note: "a node is taken whose name a cache does not show on its own machine yet",
	},
	{
		ID: "machine/cordoned-is-own", File: "perform.go", Func: "pass.drainOnce",
		From:  "p.nodeQuery(ctx).Anothers(n)",
		To:    "false",
		Finds: "TestNodeThatSaysLateWhoseItIs", Note: "a node goes that was found by its name, and says of another instance that it is its",
	},
	{
		ID: "machine/behind-for-ever", File: "behind.go", Func: "Reconciler.pastCache",
		From: "if since < staleAfter {",
		To:   "if true {",
		Note: "a server that went back stops a machine for ever",
	},
	{
		ID: "rollout/recreate-unheeded", File: "decide.go", Func: "question.cleared",
		From:  " && q.heeded(q.old)",
		To:    "",
		Finds: "TestRecreate", Note: "Recreate makes machines while an old set may be making one by its former size; some world in thousands shows it",
	},
	{
		ID: "rollout/relents-never", File: "decide.go", Func: "Decide",
		From: `		(*question).relent,
`,
		To:    "",
		Finds: "TestNamedGoFirst", Note: "a set gives up what works although others that were counted on were asked to go; some world in thousands shows it",
	},
	{
		ID: "rollout/keeps-last", File: "decide.go", Func: "book.turn",
		From:  "return 0",
		To:    "return 3",
		Finds: "TestNamedGoFirst", Note: "a set is told to keep its machines after others gave theirs up, if the API server lets it; likewise",
	},
	{
		ID: "machinedeployment/counted-twice", File: "observe.go", Func: "pass.liveMachines",
		From:  "listed.Has(m.GetUID()) || ",
		To:    "",
		Finds: "TestMachineOfTwoLabelsCountsOnce", Note: "a machine that was taken out and put back counts as listed, and as cached",
	},
}
