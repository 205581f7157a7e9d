package mutants

// nodeMutants are in the effects on nodes and pods, and in bootstrap tokens.
var nodeMutants = []Mutant{
	{
		ID: "node/refused-is-accepted", File: "drain.go", Func: "noted",
		From: "case err == nil:",
		To:   "case err == nil || apierrors.IsTooManyRequests(err):",
		Note: "a refused eviction counts as accepted; statement 4 holds, because the drain waits for the end of the pod in any case",
	},
	{
		ID: "node/busy-is-a-budget", File: "drain.go", Func: "byBudget",
		From: "apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)",
		To:   `apierrors.IsTooManyRequests(err) && policyv1.DisruptionBudgetCause != ""`,
		Note: "an overloaded API server counts as a budget that refuses; statement 4 holds, because both requests are repeated",
	},
	{
		ID: "node/vacant-by-cache", File: "drain.go", Func: "Cluster.Vacant",
		From: "[]client.Reader{c.Client, c.Live}",
		To:   "[]client.Reader{c.Client}",
		Note: "a node counts as empty because the cache shows no pod; statement 4 holds, because the pods of the node are read live before its instance is removed",
	},
	{
		ID: "node/drained-by-cache", File: "drain.go", Func: "Cluster.Drain",
		From:      "c.drain(ctx, c.Live, n, p)",
		To:        "c.drain(ctx, c.Client, n, p)",
		Statement: 4, Note: "a drain is done because the cache shows no pod",
	},
	{
		ID: "node/pod-by-name", File: "drain.go", Func: "Cluster.evict",
		From: "&metav1.Preconditions{UID: &t.UID}",
		To:   "&metav1.Preconditions{}",
		Note: "a pod that was recreated under its name is evicted instead of the pod that was seen",
	},
	{
		ID: "node/others-instance", File: "find.go", Func: "Query.anothers",
		From:      "case q.otherInstance(n):",
		To:        "case false:",
		Statement: 4, Note: "the node of another instance is taken, drained and deleted",
	},
	{
		ID: "node/others-mark", File: "find.go", Func: "Query.others",
		From: `key != "" && key != q.MachineKey`,
		To:   `key == "-"`,
		Note: "a node that another machine marked is taken; statement 4 holds, because the controller also looks up the instance with the node's name",
	},
	{
		ID: "node/unread-is-absent", File: "find.go", Func: "Read",
		From:      "case apierrors.IsNotFound(err):",
		To:        "case err != nil:",
		Statement: 6, Note: "a node that could not be read counts as not existing",
	},
	{
		ID: "node/one-of-two", File: "find.go", Func: "one",
		From: "case 1:",
		To:   "case 1, 2:",
		Note: "of two nodes, one counts as the machine's node",
	},
	{
		ID: "node/not-sure", File: "find.go", Func: "Cluster.Named",
		From:      "named(ctx, c.Live, q)",
		To:        "named(ctx, c.Client, q)",
		Statement: 4, Note: "a node that joined late is looked up in the cache only",
	},
	{
		ID: "node/successor-deleted", File: "write.go", Func: "Cluster.Delete",
		From: "client.Preconditions{UID: &n.UID}",
		To:   "client.Preconditions{}",
		Note: "a node that was recreated under its name is deleted instead of the node that was seen; statement 4 holds, because no node is recreated between the read and the deletion of one reconcile",
	},
	{
		ID: "node/successor-edited", File: "write.go", Func: "reread",
		From: "now.UID != n.UID",
		To:   "false",
		Note: "a node that was recreated under its name is edited instead of the node that was seen",
	},
	{
		ID: "node/control-planes-at-once", File: "cordon.go", Func: "Cluster.Cordon",
		From: "if !controlPlane(n) {",
		To:   "if true {",
		Note: "control-plane nodes are drained all at once",
	},
	{
		ID: "nodemeta/taints-of-others", File: "meta.go", Func: "mergeTaints",
		From: "slices.Contains(put, taintName(t)) && taint(want, t) < 0",
		To:   "taint(want, t) < 0",
		Note: "taints of other controllers are removed",
	},
	{
		ID: "node/token-of-another", File: "token.go", Func: "Cluster.held",
		From: "err == nil && token.Owner.UID == machineUID",
		To:   "err == nil",
		Note: "the token of another machine is handed out",
	},
	{
		ID: "node/new-token-secret", File: "token.go", Func: "Cluster.offer",
		From: "token.Secret = have.Secret",
		To:   "_ = have",
		Note: "the token in user data that was already handed out is replaced when it is prolonged",
	},
	{
		ID: "bootstrap/token-by-content", File: "token.go", Func: "Read",
		From: " || SecretKey(t.ID).Name != s.Name",
		To:   "",
		Note: "a secret counts as a token although its name does not fit",
	},
	{
		ID: "bootstrap/one-token-for-all", File: "token.go", Func: "TokenID",
		From: "machineUID, attempt",
		To:   `"", attempt`,
		Note: "all machines have the same token",
	},
}
