package cloud

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirt "kubevirt.io/api/core/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubevirt/spec"
)

// converted converts a part of the spec to KubeVirt's type: the field names are the same.
func converted[T any](of any) (*T, error) {
	raw, err := json.Marshal(of)
	if err != nil {
		return nil, fmt.Errorf("encode a part of the spec: %w", err)
	}
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("read a part of the spec as KubeVirt does: %w", err)
	}
	return out, nil
}

// The dependants of a machine besides its volumes, as their names contain them.
const (
	dependantUserData = "user-data"
	dependantSSHKeys  = "ssh-keys"
)

// stopSeconds is how long a guest may take to shut down: its node was drained before.
const stopSeconds = int64(30)

// builder builds the virtual machine of one machine.
type builder struct {
	scope
	ref       provider.Ref
	namespace string
}

func (b builder) build() (*kubevirt.VirtualMachine, error) {
	always, stop := kubevirt.RunStrategyAlways, stopSeconds
	domain, err := b.domain()
	if err != nil {
		return nil, err
	}
	template := kubevirt.VirtualMachineInstanceSpec{
		Domain: *domain, TerminationGracePeriodSeconds: &stop, NodeSelector: b.nodes(), DNSPolicy: b.plan.DNSPolicy, DNSConfig: b.plan.DNSConfig,
		AccessCredentials: b.access(),
	}
	b.networks(&template)
	volumes, made, err := b.volumes()
	if err != nil {
		return nil, err
	}
	template.Volumes = volumes
	if template.Domain.Devices.Disks, err = b.disks(volumes); err != nil {
		return nil, err
	}
	meta := b.labelled(machineName(b.ref.Name))
	meta.Labels = b.machineLabels(b.ref)
	return &kubevirt.VirtualMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: "kubevirt.io/v1", Kind: virtualMachines.Name},
		ObjectMeta: meta,
		Spec: kubevirt.VirtualMachineSpec{
			RunStrategy: &always, DataVolumeTemplates: made,
			Template: &kubevirt.VirtualMachineInstanceTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: b.machineLabels(b.ref)}, Spec: template},
		},
	}, nil
}

// labelled is the metadata of an object: its name and its owner.
func (b builder) labelled(name string) metav1.ObjectMeta {
	o := b.marks(b.ref)
	return metav1.ObjectMeta{Name: name, Namespace: b.namespace, Labels: o.Labels(), Annotations: o.Annotations()}
}

// dependant is the metadata of an object that is created for the virtual machine.
func (b builder) dependant(name string) metav1.ObjectMeta {
	meta := b.labelled(b.dependantName(b.ref, name))
	meta.Annotations[annotationVM] = machineName(b.ref.Name)
	return meta
}

// domain is the hardware of the guest without disks and networks.
func (b builder) domain() (*kubevirt.DomainSpec, error) {
	all := map[string]any{"resources": b.plan.Resources}
	if b.plan.CPU != nil {
		all["cpu"] = b.plan.CPU
	}
	if b.plan.Memory != nil {
		all["memory"] = b.plan.Memory
	}
	if d := b.plan.Devices; d != nil {
		others := *d
		others.Disks = nil
		all["devices"] = others
	}
	return converted[kubevirt.DomainSpec](all)
}

// nodes is the node selector.
func (b builder) nodes() map[string]string {
	all := map[string]string{}
	if b.plan.Region != "" {
		all[corev1.LabelTopologyRegion] = b.plan.Region
	}
	if b.plan.Zone != "" {
		all[corev1.LabelTopologyZone] = b.plan.Zone
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// networks are the pod network, unless another network replaces it, and the Multus networks, each as a
// bridge: so the guest shows the address under which others reach it.
func (b builder) networks(t *kubevirt.VirtualMachineInstanceSpec) {
	add := func(name string, source kubevirt.NetworkSource) {
		t.Networks = append(t.Networks, kubevirt.Network{Name: name, NetworkSource: source})
		t.Domain.Devices.Interfaces = append(t.Domain.Devices.Interfaces, kubevirt.Interface{
			Name: name, InterfaceBindingMethod: kubevirt.InterfaceBindingMethod{Bridge: &kubevirt.InterfaceBridge{}},
		})
	}
	if !b.plan.OwnNetwork() {
		add("default", kubevirt.NetworkSource{Pod: &kubevirt.PodNetwork{}})
	}
	for i, n := range b.plan.Networks {
		add(fmt.Sprintf("net-%d", i), kubevirt.NetworkSource{Multus: &kubevirt.MultusNetwork{NetworkName: n.Name, Default: n.Default && b.plan.api == provider.Gardener}})
	}
}

// access authorizes the user's SSH keys, through the volume of the user data.
func (b builder) access() []kubevirt.AccessCredential {
	if len(b.plan.SSHKeys) == 0 {
		return nil
	}
	by := kubevirt.SSHPublicKeyAccessCredentialPropagationMethod{NoCloud: &kubevirt.NoCloudSSHPublicKeyAccessCredentialPropagation{}}
	if b.plan.api == provider.OpenShift {
		by = kubevirt.SSHPublicKeyAccessCredentialPropagationMethod{ConfigDrive: &kubevirt.ConfigDriveSSHPublicKeyAccessCredentialPropagation{}}
	}
	return []kubevirt.AccessCredential{{SSHPublicKey: &kubevirt.SSHPublicKeyAccessCredential{
		Source:            kubevirt.SSHPublicKeyAccessCredentialSource{Secret: &kubevirt.AccessCredentialSecretSource{SecretName: b.dependantName(b.ref, dependantSSHKeys)}},
		PropagationMethod: by,
	}}}
}

// volumes are the disks' volumes, the boot volume first, and the templates of data volumes.
func (b builder) volumes() (all []kubevirt.Volume, made []kubevirt.DataVolumeTemplateSpec, err error) {
	add := func(disk string, of *spec.DataVolume) error {
		template, err := b.dataVolume(disk, of)
		if err != nil {
			return err
		}
		made = append(made, *template)
		all = append(all, kubevirt.Volume{Name: disk, VolumeSource: kubevirt.VolumeSource{DataVolume: &kubevirt.DataVolumeSource{Name: template.Name}}})
		return nil
	}
	if err := add(spec.RootDisk, &b.plan.RootVolume); err != nil {
		return nil, nil, err
	}
	all = append(all, b.userData())
	for i, v := range b.plan.AdditionalVolumes {
		disk := b.plan.VolumeName(i)
		if v.DataVolume != nil {
			if err := add(disk, v.DataVolume); err != nil {
				return nil, nil, err
			}
			continue
		}
		source, err := converted[kubevirt.VolumeSource](v.VolumeSource)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, kubevirt.Volume{Name: disk, VolumeSource: *source})
	}
	return all, made, nil
}

// userData is the volume that cloud-init or Ignition reads: the two originals have different formats.
func (b builder) userData() kubevirt.Volume {
	from := &corev1.LocalObjectReference{Name: b.dependantName(b.ref, dependantUserData)}
	source := kubevirt.VolumeSource{CloudInitNoCloud: &kubevirt.CloudInitNoCloudSource{UserDataSecretRef: from}}
	if b.plan.api == provider.OpenShift {
		source = kubevirt.VolumeSource{CloudInitConfigDrive: &kubevirt.CloudInitConfigDriveSource{UserDataSecretRef: from}}
	}
	return kubevirt.Volume{Name: spec.UserDataDisk, VolumeSource: source}
}

// dataVolume is the template of a volume that KubeVirt creates and deletes with the virtual machine.
func (b builder) dataVolume(disk string, of *spec.DataVolume) (*kubevirt.DataVolumeTemplateSpec, error) {
	s, err := converted[cdi.DataVolumeSpec](of)
	if err != nil {
		return nil, err
	}
	if s.Source != nil && s.Source.PVC != nil && s.Source.PVC.Namespace == "" {
		s.Source.PVC.Namespace = b.namespace
	}
	if s.Source != nil && s.Source.Snapshot != nil && s.Source.Snapshot.Namespace == "" {
		s.Source.Snapshot.Namespace = b.namespace
	}
	meta := b.dependant(disk)
	meta.Namespace = "" // the namespace is the virtual machine's
	return &kubevirt.DataVolumeTemplateSpec{ObjectMeta: meta, Spec: *s}, nil
}

// disks attach the volumes as the spec configures them, or else on the virtio bus.
func (b builder) disks(volumes []kubevirt.Volume) (all []kubevirt.Disk, err error) {
	var given []spec.Disk
	if b.plan.Devices != nil {
		given = b.plan.Devices.Disks
	}
	for _, v := range volumes {
		disk := spec.Disk{Name: v.Name}
		if n := slices.IndexFunc(given, func(d spec.Disk) bool { return d.Name == v.Name }); n >= 0 {
			disk = given[n]
		}
		if disk.Disk == nil && disk.LUN == nil && disk.CDRom == nil {
			disk.Disk = &spec.DiskTarget{Bus: string(kubevirt.DiskBusVirtio)}
		}
		d, err := converted[kubevirt.Disk](disk)
		if err != nil {
			return nil, err
		}
		all = append(all, *d)
	}
	return all, nil
}
