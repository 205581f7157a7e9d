package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Labels, by which what belongs to a machine is listed: of virtual machines, their instances, data volumes, claims and secrets.
const (
	labelUID     = "millwright.dev/machine-uid"
	labelCluster = "millwright.dev/cluster"
)

// Annotations of the same objects. Names of machines may be longer than labels.
const (
	noteName      = "millwright.dev/machine"
	noteNamespace = "millwright.dev/machine-namespace"
	noteOwner     = "millwright.dev/owner"
	// noteCluster is the whole text of what the label of the same key may have another for.
	noteCluster = labelCluster
	// noteMachine, of secrets, data volumes and claims, is the virtual machine that they are made for.
	noteMachine = "kubevirt.millwright.dev/virtual-machine"
	// noteRan says that a virtual machine ran: what befalls it later is no reason to give it up.
	noteRan = "kubevirt.millwright.dev/ran"
	// noteReboot is the last request for a reboot, and the instance that it was to end.
	noteReboot = "kubevirt.millwright.dev/reboot"
)

// scope is whose virtual machines a session makes and finds.
type scope struct {
	class provider.Class
	plan  plan
	// bare: the class has no spec any more; what is there is found and removed.
	bare bool
}

// owned is whose something is.
type owned struct{ uid, name, namespace, owner, cluster string }

func (s scope) of(ref provider.Ref) owned {
	return owned{ref.UID, ref.Name, ref.Namespace, s.class.Owner, s.class.Cluster}
}

func (o owned) labels() map[string]string {
	return map[string]string{labelUID: o.uid, labelCluster: labelValue(o.cluster)}
}

func (o owned) annotations() map[string]string {
	all := map[string]string{noteName: o.name, noteNamespace: o.namespace, noteOwner: o.owner, noteCluster: o.cluster}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// ownedBy is what an object says. One of another implementation has its own name for the machine's.
func ownedBy(m metav1.ObjectMeta) owned {
	o := owned{m.Labels[labelUID], m.Annotations[noteName], m.Annotations[noteNamespace], m.Annotations[noteOwner], m.Annotations[noteCluster]}
	if o.name == "" {
		o.name = m.Name
	}
	return o
}

// labelValue is a text as a label can have it: itself, or what is always the same in its place.
func labelValue(text string) string {
	if len(validation.IsValidLabelValue(text)) == 0 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// originalLabel is on all that OpenShift's original makes for a cluster. Tags of that cluster's own are what the other's has.
func originalLabel(cluster string) string {
	return "tenantcluster-" + cluster + "-machine.openshift.io"
}

// machineLabels are those of a virtual machine and its instance: of users, of the original, and ours.
func (s scope) machineLabels(ref provider.Ref) map[string]string {
	all := map[string]string{"kubevirt.io/vm": machineName(ref.Name)}
	if !s.bare {
		maps.Copy(all, s.plan.Tags)
	}
	if key := originalLabel(s.class.Cluster); s.class.API == provider.OpenShift && len(validation.IsQualifiedName(key)) == 0 {
		all[key] = "owned"
	}
	maps.Copy(all, s.of(ref).labels())
	return all
}

// owns reports whether a virtual machine is in the class's ownership scope: by our own word for the cluster, or by the original's.
func (s scope) owns(m metav1.ObjectMeta) bool {
	if ours, marked := m.Labels[labelCluster]; marked {
		return ours == labelValue(s.class.Cluster)
	}
	if s.class.API == provider.OpenShift {
		return m.Labels[originalLabel(s.class.Cluster)] == "owned"
	}
	if s.bare || len(s.plan.Tags) == 0 {
		return false
	}
	for key, value := range s.plan.Tags {
		if has, ok := m.Labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// selectors choose what may be in scope: what we made, and what the original made.
func (s scope) selectors() []string {
	all := []string{labelCluster + "=" + labelValue(s.class.Cluster)}
	switch key := originalLabel(s.class.Cluster); {
	case s.class.API == provider.OpenShift:
		if len(validation.IsQualifiedName(key)) == 0 {
			all = append(all, key+"=owned,!"+labelCluster)
		}
	case !s.bare && len(s.plan.Tags) > 0:
		all = append(all, labels.SelectorFromSet(s.plan.Tags).String()+",!"+labelCluster)
	}
	return all
}

// Scope implements [provider.Scoper]: by the tags of the Gardener API, what its original made is listed.
func (s scope) Scope() string {
	if s.bare || s.class.API == provider.OpenShift || len(s.plan.Tags) == 0 {
		return ""
	}
	return labels.SelectorFromSet(s.plan.Tags).String()
}

// mostName is how long the name of a virtual machine is at most: its instances and pods have it as a label.
const mostName = validation.LabelValueMaxLength

// machineName is the name of a machine's virtual machine: the machine's, or what is always the same in its place.
func machineName(of string) string {
	if len(of) <= mostName {
		return of
	}
	sum := sha256.Sum256([]byte(of))
	return strings.TrimRight(of[:mostName-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}

// partName is the name of something that is made for the virtual machine, and for no other of that name.
func (s scope) partName(ref provider.Ref, part string) string {
	return machineName(ref.Name) + "-" + part + "-" + ref.Token(s.class.Cluster)[:8]
}

// scheme is what provider IDs begin with.
const scheme = "kubevirt://"

// providerID is in the format of the API: OpenShift's original has the namespace in it.
func (s scope) providerID(namespace, name string) string {
	if s.class.API == provider.OpenShift {
		return scheme + namespace + "/" + name
	}
	return scheme + name
}

// identified is the name of the virtual machine that a provider ID names in the namespace; empty: it names none there.
func identified(providerID, namespace string) string {
	path, ok := strings.CutPrefix(strings.ToLower(providerID), scheme)
	if !ok {
		return ""
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) == 2 && parts[0] != namespace || len(parts) > 2 || len(validation.IsDNS1123Subdomain(parts[len(parts)-1])) > 0 {
		return ""
	}
	return parts[len(parts)-1]
}

// nodeName is the name under which the guest registers: its host name, which is the virtual machine's as far as the first dot.
func nodeName(v *kubevirt.VirtualMachine) string {
	if v.Spec.Template != nil && v.Spec.Template.Spec.Hostname != "" {
		return v.Spec.Template.Spec.Hostname
	}
	name, _, _ := strings.Cut(v.Name, ".")
	return name
}

// tagsOf are all labels and annotations that say something: of annotations, ours alone.
func tagsOf(m metav1.ObjectMeta) map[string]string {
	all := maps.Clone(m.Labels)
	if all == nil {
		all = map[string]string{}
	}
	for _, key := range []string{noteName, noteNamespace, noteOwner, noteRan} {
		if value, ok := m.Annotations[key]; ok {
			all[key] = value
		}
	}
	return all
}

// sortedKeys are those of a map, in order.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
