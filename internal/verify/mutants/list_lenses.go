package mutants

// lensMutants are in what is read from API objects and written into them.
var lensMutants = []Mutant{
	{
		ID: "dialect/label-over-origin", File: "origin.go", Func: "Locate",
		From:      `o != nil && o.Cluster != ""`,
		To:        `o != nil && false`,
		Statement: 1, Note: "a machine is looked for, and made again, where its label says now",
	},
	{
		ID: "dialect/origin-overwritten", File: "origin.go", Func: "RecordOrigin",
		From:      `case !ok || !o.of(m) && !recorded || o.Cluster == "":`,
		To:        "case !ok || true:",
		Statement: 1, Note: "where an instance was asked for is overwritten by where it is looked for",
	},
	{
		ID: "dialect/origin-of-another", File: "origin.go", Func: "Origin",
		From:  `case !ok || !o.of(m) && (!recorded || o.Cluster == ""):`,
		To:    "case !ok:",
		Finds: "TestMachineLaws", Note: "an object made from a copy of another takes its origin for its own; statement 2 holds, as the instance is asked for and found there",
	},
	{
		ID: "dialect/region-follows-label", File: "origin.go", Func: "Locate",
		From:      "c.Cluster, c.Region, c.Zone = o.Cluster, o.Region, o.Zone",
		To:        "c.Cluster = o.Cluster",
		Statement: 1, Note: "a machine is looked for in the region that its label says now",
	},
	{
		ID: "dialect/account-of-another", File: "origin.go", Func: "RecordOrigin",
		From: "o.Cluster == used.Cluster",
		To:   `o.Cluster != ""`,
		Note: "the account of another scope is recorded as that of the instance; statement 6 holds, as a session is opened where the origin says",
	},
	{
		ID: "dialect/unasked-though-made", File: "origin.go", Func: "HoldOrigin",
		From: "!ok && !was.Recorded.Provisioned && was",
		To:   "!ok && was",
		Note: "a machine that another implementation made counts as one for which nothing was asked; statement 2 holds, as a machine with an instance on record is never let go for that",
	},
	{
		ID: "openshift/cluster-propagated", File: "set_deployed.go", Func: "found",
		From: "InterruptibleLabel: true, ClusterLabel: true,",
		To:   "InterruptibleLabel: true,",
		Note: "a change of the cluster label in a template reaches living machines",
	},
	{
		ID: "openshift/stale-error-reason", File: "record.go", Func: "recordFailure",
		From: `	m.Status.ErrorReason = nil
`,
		To:   "",
		Note: "the reason of an earlier failure stands beside the message of the last one",
	},
	{
		ID: "openshift/begun-is-drained", File: "machine.go", Func: "isDrained",
		From:      "== corev1.ConditionTrue",
		To:        `!= ""`,
		Statement: 4, Finds: "TestMachineStory", Note: "a drain that was only begun counts as done",
	},
	{
		ID: "openshift/finalizer-not-added", File: "record.go", Func: "Machines.Record",
		From:      "controllerutil.AddFinalizer(m, machinev1.MachineFinalizer)",
		To:        "_ = machinev1.MachineFinalizer",
		Statement: 1, Finds: "TestMachineLaws", Note: "an instance is asked for without a finalizer",
	},
	{
		ID: "openshift/addresses-forgotten", File: "record.go", Func: "recordInstance",
		From:  "if len(i.Addresses) > 0 {",
		To:    "if true {",
		Finds: "TestMachineLaws", Note: "a machine loses its addresses while its instance shows none",
	},
	{
		ID: "openshift/provider-id-changes", File: "record.go", Func: "recordInstance",
		From:  `i.ProviderID != "" && ptr.Deref(m.Spec.ProviderID, "") == ""`,
		To:    `i.ProviderID != ""`,
		Finds: "TestMachineLaws", Note: "a recorded provider ID is overwritten",
	},
	{
		ID: "openshift/wrong-hooks", File: "machine.go", Func: "Machines.View",
		From:      "hooks(m.Spec.LifecycleHooks.PreTerminate)",
		To:        "hooks(m.Spec.LifecycleHooks.PreDrain)",
		Statement: 4, Finds: "TestMachineStory", Note: "pre-terminate hooks stop nothing",
	},
	{
		ID: "openshift/denied-is-missing", File: "record.go", Func: "existence",
		From:      "case !o.World.Instances.Looked:",
		To:        "case false:",
		Statement: 6, Finds: "TestMachineStory", Note: "a denied answer is reported as InstanceMissing",
	},
	{
		ID: "openshift/node-ref-kept-current", File: "node.go", Func: "recordNode",
		From: "n == nil || m.DeletionTimestamp != nil",
		To:   "n == nil",
		Note: "the node reference changes while the machine is being deleted",
	},
	{
		ID: "gardener/preserved-terminating", File: "record.go", Func: "recordPhase",
		From: "preserve = nil",
		To:   "preserve = current.PreserveExpiryTime",
		Note: "the time until which a machine is kept survives Terminating",
	},
	{
		ID: "gardener/provider-id-changes", File: "record.go", Func: "recordInstance",
		From: `if m.Spec.ProviderID == "" {`,
		To:   "if true {",
		Note: "a recorded provider ID is overwritten",
	},
	{
		ID: "gardener/node-label-changes", File: "record.go", Func: "recordNode",
		From: `if m.Labels[v1alpha1.LabelKeyNode] == "" {`,
		To:   "if true {",
		Note: "a recorded node name is overwritten",
	},
	{
		ID: "gardener/timeout-ignored", File: "drain.go", Func: "evictAttempts",
		From: "max(min(int(retries), int(timeout/evictEvery)), 1)",
		To:   "max(int(retries), 1)",
		Note: "evictions are tried for longer than the drain may take",
	},
	{
		ID: "gardener/forced-though-never", File: "drain.go", Func: "Machines.patience",
		From: "p.Drain.Timeout, p.Drain.UnreachableAfter, p.Drain.Policy.MaxEvictAttempts = 0, 0, 0",
		To:   "p.Drain.Timeout, p.Drain.UnreachableAfter = 0, 0",
		Note: "pods are deleted against their budgets although the drain is never to be forced; no machine of a world has the annotation that forbids it",
	},
	{
		ID: "gardener/finalizer-not-added", File: "record.go", Func: "Machines.Record",
		From:      "controllerutil.AddFinalizer(m, v1alpha1.FinalizerMachine)",
		To:        "_ = v1alpha1.FinalizerMachine",
		Statement: 1, Note: "an instance is asked for without a finalizer",
	},
	{
		ID: "gardener/phase-anew", File: "record.go", Func: "recordPhase",
		From: "!ok || o.Stage == was || current.Phase == phase",
		To:   "!ok || o.Stage == was && o.Stage != lifecycle.StageLost",
		Note: "the health timeout begins anew in every pass",
	},
}
