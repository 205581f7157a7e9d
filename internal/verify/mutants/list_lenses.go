package mutants

// lensMutants are in the code that reads and writes API objects.
var lensMutants = []Mutant{
	{
		ID: "dialect/label-over-origin", File: "origin.go", Func: "Locate",
		From:      `o != nil && o.Cluster != ""`,
		To:        `o != nil && false`,
		Statement: 1, Note: "a machine's instance is looked for, and created again, in the place that the label names now",
	},
	{
		ID: "dialect/origin-overwritten", File: "origin.go", Func: "RecordOrigin",
		From:      `case !ok || !o.of(m) && !recorded || o.Cluster == "":`,
		To:        "case !ok || true:",
		Statement: 1, Note: "the place of the request is overwritten with the place of the look-up",
	},
	{
		ID: "dialect/origin-of-another", File: "origin.go", Func: "Origin",
		From:  `case !ok || !o.of(m) && (!recorded || o.Cluster == ""):`,
		To:    "case !ok:",
		Finds: "TestMachineLaws", Note: "a copy of an object uses the origin of the original; statement 2 holds, because the instance is requested and found there",
	},
	{
		ID: "dialect/region-follows-label", File: "origin.go", Func: "Locate",
		From:      "c.Cluster, c.Region, c.Zone = o.Cluster, o.Region, o.Zone",
		To:        "c.Cluster = o.Cluster",
		Statement: 1, Note: "a machine's instance is looked for in the region that the label names now",
	},
	{
		ID: "dialect/account-of-another", File: "origin.go", Func: "RecordOrigin",
		From: "o.Cluster == used.Cluster",
		To:   `o.Cluster != ""`,
		Note: "the account of another scope is recorded as the account of the instance; statement 6 holds, because a session is opened in the place of the origin",
	},
	{
		ID: "dialect/unasked-though-made", File: "origin.go", Func: "HoldOrigin",
		From: "!ok && !was.Recorded.Provisioned && was",
		To:   "!ok && was",
		Note: "a machine that another implementation created counts as one without a request; statement 2 holds, because a machine with a recorded instance is never released for that",
	},
	{
		ID: "openshift/cluster-propagated", File: "set_deployed.go", Func: "found",
		From: "InterruptibleLabel: true, ClusterLabel: true,",
		To:   "InterruptibleLabel: true,",
		Note: "a change of the cluster label in a template is applied to existing machines",
	},
	{
		ID: "openshift/stale-error-reason", File: "record.go", Func: "recordFailure",
		From: `	m.Status.ErrorReason = nil
`,
		To:   "",
		Note: "the reason of an earlier failure stays beside the message of the last failure",
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
		Statement: 1, Finds: "TestMachineLaws", Note: "an instance is requested before the machine has a finalizer",
	},
	{
		ID: "openshift/addresses-forgotten", File: "record.go", Func: "recordInstance",
		From:  "if len(i.Addresses) > 0 {",
		To:    "if true {",
		Finds: "TestMachineLaws", Note: "a machine loses its addresses while its instance reports none",
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
		Statement: 4, Finds: "TestMachineStory", Note: "pre-terminate hooks have no effect",
	},
	{
		ID: "openshift/denied-is-missing", File: "record.go", Func: "existence",
		From:      "case !o.World.Instances.Looked:",
		To:        "case false:",
		Statement: 6, Finds: "TestMachineStory", Note: "a denied look-up is reported as InstanceMissing",
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
		Note: "the time until which a machine is preserved stays set in the phase Terminating",
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
		Note: "evictions are retried for longer than the drain timeout",
	},
	{
		ID: "gardener/forced-though-never", File: "drain.go", Func: "Machines.patience",
		From: "p.Drain.Timeout, p.Drain.UnreachableAfter, p.Drain.Policy.MaxEvictAttempts = 0, 0, 0",
		To:   "p.Drain.Timeout, p.Drain.UnreachableAfter = 0, 0",
		Note: "pods are deleted against their budgets although the drain must never be forced; no machine of a world has the annotation that forbids it",
	},
	{
		ID: "gardener/finalizer-not-added", File: "record.go", Func: "Machines.Record",
		From:      "controllerutil.AddFinalizer(m, v1alpha1.FinalizerMachine)",
		To:        "_ = v1alpha1.FinalizerMachine",
		Statement: 1, Note: "an instance is requested before the machine has a finalizer",
	},
	{
		ID: "gardener/phase-anew", File: "record.go", Func: "recordPhase",
		From: "!ok || o.Stage == was || current.Phase == phase",
		To:   "!ok || o.Stage == was && o.Stage != lifecycle.StageLost",
		Note: "the health timeout restarts in every reconcile",
	},
}
