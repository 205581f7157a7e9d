package openshift

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/lifecycle"
)

// Update is nothing: this API replaces machines.
func (Machines) Update(*corev1.Node) lifecycle.Update { return lifecycle.Update{} }

// Marked implements [dialect.Machines]; nobody asks.
func (Machines) Marked(lifecycle.Mark) corev1.NodeCondition { return corev1.NodeCondition{} }
