package openshift

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/lifecycle"
)

// Kept is nothing: this API leaves failed machines to whoever made them.
func (Machines) Kept(*corev1.Node) lifecycle.Kept { return lifecycle.Kept{} }

// Keep is not asked.
func (Machines) Keep(*corev1.Node, lifecycle.KeepPlan, time.Time) {}

// Signed is not asked.
func (Machines) Signed(lifecycle.KeepPlan) corev1.NodeCondition { return corev1.NodeCondition{} }
