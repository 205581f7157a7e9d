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

// Annotations, besides those of ownership.
const (
	// annotationVM is the virtual machine that a secret, data volume or claim was created for.
	annotationVM = "kubevirt.millwright.dev/virtual-machine"
	// annotationRan records that a virtual machine has run: a later error is not a failure to create it.
	annotationRan = "kubevirt.millwright.dev/ran"
	// annotationReboot has the last reboot request, and the instance to be deleted by it.
	annotationReboot = "kubevirt.millwright.dev/reboot"
)

// scope is the ownership scope of a session: it creates and finds virtual machines in it.
type scope struct {
	class provider.Class
	plan  plan
	// bare: the class has no spec any more; the session only finds and deletes.
	bare bool
}

func (s scope) marks(ref provider.Ref) kubeapi.Marks { return kubeapi.MarksFor(s.class, ref) }

// marksOn reads the ownership of an object. Another implementation stores the machine's name differently.
func marksOn(m metav1.ObjectMeta) kubeapi.Marks {
	o := kubeapi.MarksOn(m)
	o.Name = cmp.Or(o.Name, m.Name)
	return o
}

// originalLabel is the label that OpenShift's original provider adds to all objects of a cluster. It counts
// as a tag of the same cluster in the other API.
func originalLabel(cluster string) string {
	return "tenantcluster-" + cluster + "-machine.openshift.io"
}

// machineLabels are the labels of a virtual machine and its instance: the user's, the original provider's,
// and ours.
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

// owns reports whether a virtual machine is in the class's ownership scope, by our cluster label or by the
// original's.
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

// selectors select the objects that may be in scope: ours, and the original's.
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

// mostName is the maximum length of a virtual machine's name: its instance and pod have the name as a label.
const mostName = validation.LabelValueMaxLength

// machineName is the name of a machine's virtual machine: the machine's name, or a fixed replacement for a
// name that is too long or invalid.
func machineName(of string) string {
	if len(of) <= mostName {
		return of
	}
	sum := sha256.Sum256([]byte(of))
	return strings.TrimRight(of[:mostName-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}

// dependantName is the name of an object that is created for this machine's virtual machine only.
func (s scope) dependantName(ref provider.Ref, part string) string {
	return machineName(ref.Name) + "-" + part + "-" + ref.Token(s.class.Cluster)[:8]
}

// scheme is the prefix of provider IDs.
const scheme = "kubevirt://"

// providerID has the format of the API: OpenShift's original includes the namespace.
func (s scope) providerID(namespace, name string) string {
	if s.class.API == provider.OpenShift {
		return scheme + namespace + "/" + name
	}
	return scheme + name
}

// identified is the name of the virtual machine in a provider ID; empty if the ID names none in the
// namespace.
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

// nodeName is the name under which the guest registers: its host name, which is the virtual machine's name up
// to the first dot.
func nodeName(v *kubevirt.VirtualMachine) string {
	if v.Spec.Template != nil && v.Spec.Template.Spec.Hostname != "" {
		return v.Spec.Template.Spec.Hostname
	}
	name, _, _ := strings.Cut(v.Name, ".")
	return name
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
