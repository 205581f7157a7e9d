package cloud

import (
	"cmp"
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
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// Annotations besides those that say whose something is.
const (
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

func (s scope) marks(ref provider.Ref) kubeapi.Marks { return kubeapi.MarksFor(s.class, ref) }

// marksOn is what an object says. One of another implementation has its own name for the machine's.
func marksOn(m metav1.ObjectMeta) kubeapi.Marks {
	o := kubeapi.MarksOn(m)
	o.Name = cmp.Or(o.Name, m.Name)
	return o
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
	maps.Copy(all, s.marks(ref).Labels())
	return all
}

// owns reports whether a virtual machine is in the class's ownership scope: by our own word for the cluster, or by the original's.
func (s scope) owns(m metav1.ObjectMeta) bool {
	if ours, marked := m.Labels[kubeapi.LabelCluster]; marked {
		return ours == kubeapi.LabelValue(s.class.Cluster)
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
	all := []string{kubeapi.LabelCluster + "=" + kubeapi.LabelValue(s.class.Cluster)}
	switch key := originalLabel(s.class.Cluster); {
	case s.class.API == provider.OpenShift:
		if len(validation.IsQualifiedName(key)) == 0 {
			all = append(all, key+"=owned,!"+kubeapi.LabelCluster)
		}
	case !s.bare && len(s.plan.Tags) > 0:
		all = append(all, labels.SelectorFromSet(s.plan.Tags).String()+",!"+kubeapi.LabelCluster)
	}
	return all
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

// sortedKeys are those of a map, in order.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
