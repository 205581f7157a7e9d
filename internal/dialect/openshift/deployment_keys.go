package openshift

import "github.com/millwright-dev/millwright/api/millwright"

// Labels, annotations and taints of machine deployments. The first group is
// what clients know from deployments of other kinds.
const (
	// TemplateHashLabel tells the sets of a deployment and their machines
	// apart. It is on the set's labels, selector and template.
	TemplateHashLabel = "machine-template-hash"
	// RevisionAnnotation holds the revision of a set, and of the deployment's
	// present template; RevisionHistoryAnnotation the set's earlier ones,
	// separated by commas.
	RevisionAnnotation        = "deployment.kubernetes.io/revision"
	RevisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	// DesiredAnnotation and MaxAnnotation hold the deployment's replicas, and
	// those with surge, when it last scaled the set.
	DesiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	MaxAnnotation     = "deployment.kubernetes.io/max-replicas"

	// ScaleDownDisabledAnnotation keeps, with "true", the autoscaler from
	// removing a node.
	ScaleDownDisabledAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
)

// What is ours.
const (
	// DeploymentAnnotation on a set holds the name of the deployment that made
	// it, so that one of the same name can take it over when the first was
	// deleted and the set was to stay.
	DeploymentAnnotation = millwright.MachineDeployment
	// TemplateAnnotation on a set says which template it was made from, so that
	// defaults which somebody filled into the set are told from a change.
	TemplateAnnotation = millwright.Template
	// ScaleUpDisabledAnnotation, unless "false", keeps a set from creating
	// machines.
	ScaleUpDisabledAnnotation = millwright.ScaleUpDisabled
	// OutdatedKey is the taint, with the effect PreferNoSchedule, of nodes that
	// a rollout is about to remove, and the annotation of their set.
	OutdatedKey = millwright.Outdated
	// ScaleDownDisabledByAnnotation on a node, with the value "rollout", says
	// that [ScaleDownDisabledAnnotation] was written by a rollout, which
	// therefore may remove it.
	ScaleDownDisabledByAnnotation = millwright.ScaleDownDisabledBy
)

const (
	yes       = "true"
	byRollout = "rollout"
)
