package kubevirt

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kubevirt "kubevirt.io/api/core/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
)

// Judge implements [kubeapi.Controller]. It refuses unknown fields, and virtual machines that KubeVirt's own rules
// refuse.
func (*controller) Judge(kind string, o object) (causes []kubeapi.Cause) {
	var machine kubevirt.VirtualMachine
	into := map[string]any{
		"VirtualMachine": &machine, "VirtualMachineInstance": &kubevirt.VirtualMachineInstance{}, "DataVolume": &cdi.DataVolume{},
		"Secret": &corev1.Secret{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
	}[kind]
	if wrong := kubeapi.Strict(o, into); wrong != nil {
		return wrong
	}
	for key, value := range o.Texts("metadata", "labels") {
		for _, why := range append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...) {
			causes = append(causes, kubeapi.Wrong("metadata.labels", fmt.Sprintf("Invalid value: %q: %s", value, why)))
		}
	}
	for _, why := range validation.IsDNS1123Subdomain(o.Name()) {
		causes = append(causes, kubeapi.Wrong("metadata.name", why))
	}
	if kind != "VirtualMachine" {
		return causes
	}
	return append(causes, judgeMachine(&machine)...)
}

func judgeMachine(m *kubevirt.VirtualMachine) (causes []kubeapi.Cause) {
	add := func(at, format string, args ...any) {
		causes = append(causes, kubeapi.Wrong(at, fmt.Sprintf(format, args...)))
	}
	if len(m.Name) > validation.LabelValueMaxLength {
		add("metadata.name", "name exceeds %d characters", validation.LabelValueMaxLength)
	}
	switch {
	case m.Spec.Running != nil && m.Spec.RunStrategy != nil:
		add("spec.running", "Running and RunStrategy are mutually exclusive")
	case m.Spec.Running == nil && m.Spec.RunStrategy == nil:
		add("spec.runStrategy", "One of Running or RunStrategy must be specified")
	}
	if m.Spec.Template == nil {
		add("spec.template", "missing virtual machine template.")
		return causes
	}
	domain := m.Spec.Template.Spec.Domain
	memory, asked := domain.Resources.Requests[corev1.ResourceMemory]
	_, limited := domain.Resources.Limits[corev1.ResourceMemory]
	if !asked && !limited && (domain.Memory == nil || domain.Memory.Guest == nil && domain.Memory.Hugepages == nil) {
		add("spec.template.spec.domain.resources.requests.memory", "no memory requested, at least one of memory.guest, memory.hugepages.size or resources.memory must be set")
	}
	if limit, ok := domain.Resources.Limits[corev1.ResourceMemory]; ok && memory.Cmp(limit) > 0 {
		add("spec.template.spec.domain.resources.requests.memory", "spec.domain.resources.requests.memory %s is greater than limits %s", &memory, &limit)
	}
	causes = append(causes, judgeVolumes(m)...)
	return append(causes, judgeNetworks(m)...)
}

// judgeVolumes checks that disks have volumes, and volumes have data volumes or claims.
func judgeVolumes(m *kubevirt.VirtualMachine) (causes []kubeapi.Cause) {
	spec := m.Spec.Template.Spec
	volumes, templates := map[string]bool{}, map[string]bool{}
	for _, v := range spec.Volumes {
		if volumes[v.Name] {
			causes = append(causes, kubeapi.Wrong("spec.template.spec.volumes", fmt.Sprintf("duplicate volume name %q", v.Name)))
		}
		volumes[v.Name] = true
	}
	for i, d := range spec.Domain.Devices.Disks {
		at := fmt.Sprintf("spec.template.spec.domain.devices.disks[%d].name", i)
		if !volumes[d.Name] {
			causes = append(causes, kubeapi.Wrong(at, fmt.Sprintf("%s '%s' not found.", at, d.Name)))
		}
		delete(volumes, d.Name)
	}
	for name := range volumes {
		causes = append(causes, kubeapi.Wrong("spec.template.spec.domain.volumes", fmt.Sprintf("volume %q has no matching disk", name)))
	}
	for i, t := range m.Spec.DataVolumeTemplates {
		at := fmt.Sprintf("spec.dataVolumeTemplates[%d]", i)
		if t.Name == "" {
			causes = append(causes, kubeapi.Wrong(at, "'name' field must not be empty for DataVolumeTemplate entry "+at))
		}
		if (t.Spec.PVC == nil) == (t.Spec.Storage == nil) {
			causes = append(causes, kubeapi.Wrong(at+".spec", "exactly one of pvc and storage must be given"))
		}
		templates[t.Name] = true
	}
	for _, v := range spec.Volumes {
		if v.DataVolume != nil {
			delete(templates, v.DataVolume.Name)
		}
	}
	for name := range templates {
		causes = append(causes, kubeapi.Wrong("spec.dataVolumeTemplates", fmt.Sprintf("DataVolumeTemplate %q must be referenced in the VMI template's 'volumes' list", name)))
	}
	return causes
}

func judgeNetworks(m *kubevirt.VirtualMachine) (causes []kubeapi.Cause) {
	networks := map[string]bool{}
	for _, n := range m.Spec.Template.Spec.Networks {
		networks[n.Name] = true
	}
	for i, n := range m.Spec.Template.Spec.Domain.Devices.Interfaces {
		at := fmt.Sprintf("spec.template.spec.domain.devices.interfaces[%d].name", i)
		if !networks[n.Name] {
			causes = append(causes, kubeapi.Wrong(at, fmt.Sprintf("%s '%s' not found.", at, n.Name)))
		}
		delete(networks, n.Name)
	}
	for name := range networks {
		causes = append(causes, kubeapi.Wrong("spec.template.spec.networks", fmt.Sprintf("spec.networks '%s' has no matching interface", name)))
	}
	return causes
}
