package machine

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// The keys of the machine's identity on every log line and every span. Machine and set are
// "namespace/name".
const (
	keyMachine    = "machine"
	keySet        = "set"
	keyProviderID = "providerID"
	keyNode       = "node"
)

// logs creates the logger of each pass, which also logs a failure of the pass.
func (r *Reconciler[M]) logs(base logr.Logger, controller string) func(*reconcile.Request) logr.Logger {
	base = base.WithValues("controller", controller)
	return func(req *reconcile.Request) logr.Logger {
		if req == nil {
			return base
		}
		m := r.Dialect.New()
		if err := r.Client.Get(context.Background(), req.NamespacedName, m, client.UnsafeDisableDeepCopy); err != nil { // it was deleted, or the pass will report the error
			return base.WithValues("namespace", req.Namespace, "name", req.Name, keyMachine, req.String())
		}
		return base.WithValues("namespace", req.Namespace, "name", req.Name).WithValues(identity(m, r.Dialect.View(m))...)
	}
}

// identity identifies the machine, as keys and values.
func identity(m client.Object, v lifecycle.Machine) []any {
	out := []any{keyMachine, client.ObjectKeyFromObject(m).String()}
	if owner := metav1.GetControllerOfNoCopy(m); owner != nil && strings.HasSuffix(owner.Kind, "MachineSet") {
		out = append(out, keySet, m.GetNamespace()+"/"+owner.Name)
	}
	return append(out, found(lifecycle.Machine{}, v)...)
}

// found is the part of the identity that v has and was did not.
func found(was, v lifecycle.Machine) (out []any) {
	if id := v.Recorded.ProviderID; id != "" && was.Recorded.ProviderID == "" {
		out = append(out, keyProviderID, id)
	}
	if node := v.Recorded.NodeName; node != "" && was.Recorded.NodeName == "" {
		out = append(out, keyNode, node)
	}
	return out
}

// logOf is the log of the pass for a line about the machine's node.
func (k *passFacts[M]) logOf(n *corev1.Node) logr.Logger {
	if k.was.Recorded.NodeName != "" {
		return k.log
	}
	return k.log.WithValues(keyNode, n.Name)
}

// learned returns the log of a pass, which began with a machine as it was, with the identity that has
// become known since.
func learned(log logr.Logger, was, v lifecycle.Machine) logr.Logger {
	return log.WithValues(found(was, v)...)
}
