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
	// annotationReboot, on hosts, is the last reboot request.
	annotationReboot = "metal3.millwright.dev/reboot"
	// annotationVersion, on secrets, is the resourceVersion that an attempt to claim a host has read: so two
	// attempts never write the same secret.
	annotationVersion = "metal3.millwright.dev/version"
)

// The original provider's annotation on hosts that keeps a host off, and its former finalizer.
const (
	originalPowerOff  = "reboot.metal3.io/capbm-requested-power-off"
	originalFinalizer = "machine.machine.openshift.io"
)

// scope is the ownership scope of a session: it claims and finds hosts in it.
type scope struct {
	class provider.Class
	// spec is nil if the class has no spec any more; then the session only finds and releases hosts.
	spec *spec.Machine
	// here: the hosts are in the cluster of the machines.
	here bool
}

// versions are the API versions of machines in consumerRefs.
var versions = map[string]string{provider.OpenShift: provider.OpenShift + "/v1beta1", provider.Gardener: provider.Gardener + "/v1alpha1"}

// consumer is the consumerRef of a host that ref has claimed.
func (s scope) consumer(ref provider.Ref) map[string]any {
	return map[string]any{"kind": "Machine", "namespace": ref.Namespace, "name": ref.Name, "apiVersion": versions[s.class.API]}
}

// isMachine reports whether a consumer is a machine of one of the APIs, in any version.
func isMachine(consumer *corev1.ObjectReference, apis ...string) bool {
	if consumer == nil || consumer.Kind != "Machine" {
		return false
	}
	return slices.Contains(apis, schema.FromAPIVersionAndKind(consumer.APIVersion, consumer.Kind).Group)
}

// marksOn reads the ownership of a host. A host that the original provider has claimed has only the
// consumerRef.
func marksOn(h *host) kubeapi.Marks {
	o := kubeapi.MarksOn(h.ObjectMeta)
	if consumer := h.Spec.ConsumerRef; consumer != nil {
		o.Name = cmp.Or(o.Name, consumer.Name)
	}
	return o
}

// marked reports whether a host or a secret has our cluster label with the class's cluster.
func (s scope) marked(m metav1.ObjectMeta) bool {
	return m.Labels[kubeapi.LabelCluster] == kubeapi.LabelValue(s.class.Cluster)
}

// owns reports whether a host is in the class's ownership scope. Our labels count only while consumerRef
// names the same machine: a user who assigns the host to another consumer may leave the labels. A host
// without our labels belongs to a machine of the cluster that it is in, because the original provider uses no
// other cluster.
func (s scope) owns(h *host) bool {
	consumer := h.Spec.ConsumerRef
	if _, marked := h.Labels[kubeapi.LabelCluster]; !marked {
		return s.here && isMachine(consumer, s.class.API)
	}
	o := kubeapi.MarksOn(h.ObjectMeta)
	return s.marked(h.ObjectMeta) && isMachine(consumer, provider.OpenShift, provider.Gardener) &&
		consumer.Name == cmp.Or(o.Name, consumer.Name) && consumer.Namespace == cmp.Or(o.Namespace, consumer.Namespace)
}

// marks are the ownership labels and annotations of the machine's host and secret.
func (s scope) marks(ref provider.Ref) kubeapi.Marks { return kubeapi.MarksFor(s.class, ref) }

// unmarked returns a patch that removes our labels and annotations from a host.
func unmarked(h *host) (labels, annotations map[string]any) {
	labels, annotations = map[string]any{}, map[string]any{}
	for _, key := range []string{kubeapi.LabelUID, kubeapi.LabelCluster} {
		if _, ok := h.Labels[key]; ok {
			labels[key] = nil
		}
	}
	for _, key := range []string{kubeapi.NoteName, kubeapi.NoteNamespace, kubeapi.NoteOwner, kubeapi.NoteCluster, annotationReboot} {
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

// scheme is the prefix of provider IDs, as the original writes them.
const scheme = "baremetalhost:///"

func providerID(h *host) string { return fmt.Sprintf("%s%s/%s/%s", scheme, h.Namespace, h.Name, h.UID) }

// id is the name of a host, with its namespace.
func id(h *host) string { return h.Namespace + "/" + h.Name }

// hostRef is the host in a provider ID. The UID is empty in the original's former format.
type hostRef struct{ namespace, name, uid string }

func identified(providerID string) (p hostRef, ok bool) {
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
	p = hostRef{namespace: parts[0], name: parts[1]}
	if len(parts) == 3 {
		p.uid = parts[2]
	}
	return p, len(parts) == 2 || p.uid != ""
}

// is reports whether ref names the host.
func (p hostRef) is(h *host) bool {
	return h.Namespace == p.namespace && h.Name == p.name && (p.uid == "" || p.uid == string(h.UID))
}
