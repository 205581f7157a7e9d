package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
	"github.com/millwright-dev/millwright/providers/metal3/spec"
)

const (
	// noteReboot, of hosts, is the last request for a reboot.
	noteReboot = "metal3.millwright.dev/reboot"
	// noteVersion, of secrets, is the version that an attempt to take a host has read: so no two attempts write the same.
	noteVersion = "metal3.millwright.dev/version"
)

// The original's on hosts: what holds one off for as long as it is there, and a finalizer that it has given up itself.
const (
	originalPowerOff  = "reboot.metal3.io/capbm-requested-power-off"
	originalFinalizer = "machine.machine.openshift.io"
)

// scope is whose hosts a session takes and finds.
type scope struct {
	class provider.Class
	// spec is nil where the class has none any more; what is there is found and released.
	spec *spec.Machine
	// here: hosts are in the cluster of the machines.
	here bool
}

// versions are those of machines in consumerRefs.
var versions = map[string]string{provider.OpenShift: provider.OpenShift + "/v1beta1", provider.Gardener: provider.Gardener + "/v1alpha1"}

// consumer is what a host says of who has it.
func (s scope) consumer(ref provider.Ref) map[string]any {
	return map[string]any{"kind": "Machine", "namespace": ref.Namespace, "name": ref.Name, "apiVersion": versions[s.class.API]}
}

// isMachine reports whether a consumer is a machine of one of the APIs, in whatever version.
func isMachine(consumer *corev1.ObjectReference, apis ...string) bool {
	if consumer == nil || consumer.Kind != "Machine" {
		return false
	}
	return slices.Contains(apis, schema.FromAPIVersionAndKind(consumer.APIVersion, consumer.Kind).Group)
}

// marksOn is what a host says of whose it is. One that the original took for a machine says so by its consumer alone.
func marksOn(h *host) kubeapi.Marks {
	o := kubeapi.MarksOn(h.ObjectMeta)
	if consumer := h.Spec.ConsumerRef; consumer != nil {
		o.Name = cmp.Or(o.Name, consumer.Name)
	}
	return o
}

// marked reports whether a host, or a secret, has our mark of the class's ownership scope.
func (s scope) marked(m metav1.ObjectMeta) bool {
	return m.Labels[kubeapi.LabelCluster] == kubeapi.LabelValue(s.class.Cluster)
}

// owns reports whether a host is in the class's ownership scope. Our mark counts only while the host is still that machine's which it names:
// whoever gives the host to somebody else leaves the mark. Without a mark it is a machine's of the cluster that the host is in, as the
// original, which knows no other, has written it.
func (s scope) owns(h *host) bool {
	consumer := h.Spec.ConsumerRef
	if _, marked := h.Labels[kubeapi.LabelCluster]; !marked {
		return s.here && isMachine(consumer, s.class.API)
	}
	o := kubeapi.MarksOn(h.ObjectMeta)
	return s.marked(h.ObjectMeta) && isMachine(consumer, provider.OpenShift, provider.Gardener) &&
		consumer.Name == cmp.Or(o.Name, consumer.Name) && consumer.Namespace == cmp.Or(o.Namespace, consumer.Namespace)
}

// marks are what is written on the host of a machine, and on its secret.
func (s scope) marks(ref provider.Ref) kubeapi.Marks { return kubeapi.MarksFor(s.class, ref) }

// unmarked takes our marks off a host.
func unmarked(h *host) (labels, annotations map[string]any) {
	labels, annotations = map[string]any{}, map[string]any{}
	for _, key := range []string{kubeapi.LabelUID, kubeapi.LabelCluster} {
		if _, ok := h.Labels[key]; ok {
			labels[key] = nil
		}
	}
	for _, key := range []string{kubeapi.NoteName, kubeapi.NoteNamespace, kubeapi.NoteOwner, kubeapi.NoteCluster, noteReboot} {
		if _, ok := h.Annotations[key]; ok {
			annotations[key] = nil
		}
	}
	return labels, annotations
}

// secretName is the name of the machine's only secret.
func (s scope) secretName(ref provider.Ref) string {
	name := ref.Name
	if most := validation.DNS1123SubdomainMaxLength - len("-user-data-") - 32; len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + "-user-data-" + ref.Token(s.class.Cluster)
}

// scheme is what provider IDs begin with, as the original writes them.
const scheme = "baremetalhost:///"

func providerID(h *host) string { return fmt.Sprintf("%s%s/%s/%s", scheme, h.Namespace, h.Name, h.UID) }

// id is what a host is called, in any namespace.
func id(h *host) string { return h.Namespace + "/" + h.Name }

// place is the host that a provider ID names. Its UID is empty in the form that the original read formerly.
type place struct{ namespace, name, uid string }

func identified(providerID string) (p place, ok bool) {
	path, found := strings.CutPrefix(strings.ToLower(providerID), scheme)
	parts := strings.Split(path, "/")
	if !found || len(parts) < 2 || len(parts) > 3 {
		return p, false
	}
	for _, part := range parts[:2] {
		if len(validation.IsDNS1123Subdomain(part)) > 0 {
			return p, false
		}
	}
	p = place{namespace: parts[0], name: parts[1]}
	if len(parts) == 3 {
		p.uid = parts[2]
	}
	return p, len(parts) == 2 || p.uid != ""
}

// is reports whether a host is the one that is named.
func (p place) is(h *host) bool {
	return h.Namespace == p.namespace && h.Name == p.name && (p.uid == "" || p.uid == string(h.UID))
}
