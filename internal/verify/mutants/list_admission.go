package mutants

// admissionMutants are in the rules for a written object (refuse, allow, default), and in the renewal of certificates.
var admissionMutants = []Mutant{
	{
		ID: "admission/refuses-what-stood", File: "rules.go", Func: "Verdict.spare",
		From: "if !unchanged {",
		To:   "if !unchanged || len(v.Faults) > 0 {",
		Note: "a set with an invalid template can no longer be scaled, and the autoscaler cannot mark its machine",
	},
	{
		ID: "admission/changed-spec-passes", File: "rules.go", Func: "Rules.Machine",
		From: "v.spare(same)",
		To:   "v.spare(old != nil)",
		Note: "an update can make a spec invalid",
	},
	{
		ID: "admission/deletion-judged", File: "rules.go", Func: "Rules.Machine",
		From: "!deleting || !same",
		To:   "true",
		Note: "a machine in deletion gets a warning about its spec with each removal of a finalizer",
	},
	{
		ID: "admission/hooks-of-the-living", File: "rules.go", Func: "Rules.Machine",
		From: "if deleting && old != nil {",
		To:   "if old != nil {",
		Note: "no user can add a hook to a machine",
	},
	{
		ID: "admission/hooks-by-name", File: "rules.go", Func: "added",
		From: "!slices.Contains(old, h)",
		To:   "!slices.ContainsFunc(old, func(o machinev1.LifecycleHook) bool { return o.Name == h.Name })",
		Note: "a hook gets another owner while its machine is being deleted",
	},
	{
		ID: "admission/selector-moves", File: "rules.go", Func: "Rules.MachineSet",
		From: "!sameSelector(&s.Spec.Selector, &old.Spec.Selector)",
		To:   "false",
		Note: "a set leaves its machines without a controller",
	},
	{
		ID: "admission/label-overwritten", File: "defaults.go", Func: "Rules.DefaultMachine",
		From: "!has && ",
		To:   "(has || !has) && ",
		Note: "a machine of another cluster counts as a machine of this cluster",
	},
	{
		ID: "admission/no-rules-is-a-fault", File: "spec.go", Func: "Rules.spec",
		From: "if r.Admitter == nil {",
		To:   "if r.Admitter == nil && !absent(s) {",
		Note: "an infrastructure without rules refuses machines; a panic, which a real server turns into a warning",
	},
	{
		ID: "admission/panic-refuses", File: "handler.go", Func: "handler.hook",
		From: `webhook.Allowed("").WithWarnings("not judged: " + err.Error())`,
		To:   "webhook.Denied(err.Error())",
		Note: "a defect in one rule blocks all writes",
	},
	{
		ID: "admission/unseen-is-absent", File: "handler.go", Func: "handler.lacks",
		From: "case apierrors.IsNotFound(err):",
		To:   "case err != nil:",
		Note: "a secret that the webhook may not read is reported as not existing",
	},
	{
		ID: "admission/silence-forgets", File: "cluster.go", Func: "Facts.read",
		From: "case apierrors.IsNotFound(err):",
		To:   "case err != nil:",
		Note: "one unanswered request to the API server turns the rules off",
	},
	{
		ID: "certs/old-ca-dropped", File: "material.go", Func: "Material.Renewed",
		From: "slices.Concat(made.certPEM, living(now, m.Bundle))",
		To:   "made.certPEM",
		Note: "API servers that have the new CA refuse the old certificate, which is still served",
	},
	{
		ID: "certs/new-ca-signs-at-once", File: "material.go", Func: "Material.Renewed",
		From: "if !old.usable(now) { // nobody",
		To:   "if true { // nobody",
		Note: "API servers that have the old CA refuse the new certificate, which is already served",
	},
	{
		ID: "certs/never-due", File: "material.go", Func: "due",
		From: "c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3)",
		To:   "c.NotAfter.Add(1000000 * time.Hour)",
		Note: "certificates expire",
	},
	{
		ID: "certs/theirs-overwritten", File: "configurations.go", Func: "configuration.theirs",
		From: "if key == serviceCA || strings.HasPrefix(key, certManager) {",
		To:   "if key == serviceCA {",
		Note: "two controllers write their CAs into one configuration in turn",
	},
	{
		ID: "certs/folder-never-again", File: "keeper.go", Func: "Keeper.read",
		From: "	k.made.Store(nil)\n",
		To:   "",
		Note: "a certificate that is mounted later is never served",
	},
}
