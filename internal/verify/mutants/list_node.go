package mutants

// nodeMutants are in the effects on nodes and pods, and in bootstrap tokens.
var nodeMutants = []Mutant{
	{
		ID: "node/refused-is-accepted", File: "drain.go", Func: "noted",
		From: "case err == nil:",
		To:   "case err == nil || apierrors.IsTooManyRequests(err):",
		Note: "a refused eviction counts as accepted; statement 4 holds, as the drain waits until the pod has gone, whatever it was told",
	},
	{
		ID: "node/busy-is-a-budget", File: "drain.go", Func: "byBudget",
		From: "apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)",
		To:   `apierrors.IsTooManyRequests(err) && policyv1.DisruptionBudgetCause != ""`,
		Note: "an API server that is busy counts as a budget that refuses; statement 4 holds, as either is asked for again",
	},
	{
		ID: "node/vacant-by-cache", File: "drain.go", Func: "Cluster.Vacant",
		From: "[]client.Reader{c.Client, c.Live}",
		To:   "[]client.Reader{c.Client}",
		Note: "a node counts as empty because the cache shows no pod; statement 4 holds, as the pods of the node are read live before its instance goes",
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
		Note: "a pod that came back under its name is evicted in place of the one that was seen",
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
		Note: "a node that another machine marked is taken; statement 4 holds, as the controller asks besides what is listed under the node's name",
	},
	{
		ID: "node/unread-is-absent", File: "find.go", Func: "Read",
		From:      "case apierrors.IsNotFound(err):",
		To:        "case err != nil:",
		Statement: 6, Note: "a node that could not be read does not exist",
	},
	{
		ID: "node/one-of-two", File: "find.go", Func: "one",
		From: "case 1:",
		To:   "case 1, 2:",
		Note: "one of two nodes is taken for the machine's",
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
		Note: "a node that came back under its name is deleted in place of the one that was seen; statement 4 holds, as no node comes back between the look and the deletion of one pass",
	},
	{
		ID: "node/successor-edited", File: "write.go", Func: "reread",
		From: "now.UID != n.UID",
		To:   "false",
		Note: "a node that came back under its name is edited in place of the one that was seen",
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
		Note: "taints are removed that somebody else put there",
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
		Note: "boot data that were handed out lose their token when it is prolonged",
	},
	{
		ID: "bootstrap/token-by-content", File: "token.go", Func: "Read",
		From: " || SecretKey(t.ID).Name != s.Name",
		To:   "",
		Note: "a secret counts as a token under a name that is not its own",
	},
	{
		ID: "bootstrap/one-token-for-all", File: "token.go", Func: "TokenID",
		From: "machineUID, attempt",
		To:   `"", attempt`,
		Note: "all machines have the same token",
	},
}
