package openshift

import "github.com/millwright-dev/millwright/api/millwright"

// Labels, annotations and taints of machine deployments. The first group is known to clients from deployments
// of other kinds.
const (
	// TemplateHashLabel distinguishes the sets of a deployment and their machines. It is on the set's labels,
	// selector and template.
	TemplateHashLabel = "machine-template-hash"
	// RevisionAnnotation has the revision of a set, and of the deployment's current template;
	// RevisionHistoryAnnotation the set's earlier ones, separated by commas.
	RevisionAnnotation        = "deployment.kubernetes.io/revision"
	RevisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	// DesiredAnnotation and MaxAnnotation have the deployment's replicas, without and with surge, when it
	// last scaled the set.
	DesiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	MaxAnnotation     = "deployment.kubernetes.io/max-replicas"

	// ScaleDownDisabledAnnotation keeps, with "true", the autoscaler from
	// removing a node.
	ScaleDownDisabledAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
)

// Millwright's own keys.
const (
	// DeploymentAnnotation on a set has the name of the deployment that created it, so that a later
	// deployment of the same name can adopt it if the first was deleted without its sets.
	DeploymentAnnotation = millwright.MachineDeployment
	// TemplateAnnotation on a set identifies the template from which it was created, so that defaults that
	// another component filled into the set are not mistaken for a change.
	TemplateAnnotation = millwright.Template
	// ScaleUpDisabledAnnotation, unless "false", keeps a set from creating
	// machines.
	ScaleUpDisabledAnnotation = millwright.ScaleUpDisabled
	// OutdatedKey is the taint, with the effect PreferNoSchedule, of nodes that a rollout is about to remove,
	// and the annotation of their set.
	OutdatedKey = millwright.Outdated
	// ScaleDownDisabledByAnnotation on a node, with the value "rollout", says that a rollout wrote
	// [ScaleDownDisabledAnnotation] and may therefore remove it.
	ScaleDownDisabledByAnnotation = millwright.ScaleDownDisabledBy
)

const (
	yes       = "true"
	byRollout = "rollout"
)
