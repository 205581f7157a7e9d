package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// ownDomain is the domain of the ownership labels: users' tags cannot set such labels.
const ownDomain = "millwright.dev"

// check returns the errors of a machine, with paths below at; nil means the spec itself.
func (m *Machine) check(at *field.Path) (faults field.ErrorList) {
	place := func(name, value string) {
		for _, why := range validation.IsValidLabelValue(value) {
			faults = append(faults, invalid(at.Child(name), value, why))
		}
	}
	place("region", m.Region)
	place("zone", m.Zone)
	faults = append(faults, m.checkResources(at)...)
	faults = append(faults, m.RootVolume.check(at.Child("rootVolume"))...)
	faults = append(faults, m.checkVolumes(at)...)
	faults = append(faults, m.checkDisks(at)...)
	faults = append(faults, m.checkNetworks(at.Child("networks"))...)
	faults = append(faults, m.checkDNS(at)...)
	for i, key := range m.SSHKeys {
		if strings.TrimSpace(key) == "" || strings.ContainsAny(strings.TrimSpace(key), "\r\n") {
			faults = append(faults, invalid(at.Child("sshKeys").Index(i), key, "a public key is one line"))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Tags)) {
		faults = append(faults, checkTag(at.Child("tags").Key(lenient.Shown(key)), key, m.Tags[key])...)
	}
	// Some errors come from maps: the order, and so the text, must be the same each time.
	slices.SortStableFunc(faults, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	if len(faults) > lenient.MostFaults {
		faults = faults[:lenient.MostFaults]
	}
	return faults
}

func checkTag(at *field.Path, key, value string) (faults field.ErrorList) {
	for _, why := range append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...) {
		faults = append(faults, invalid(at, value, "tags are labels: "+why))
	}
	domain, _, _ := strings.Cut(key, "/")
	if domain == ownDomain || strings.HasSuffix(domain, "."+ownDomain) {
		faults = append(faults, field.Forbidden(at, "labels of "+ownDomain+" are not for users to give"))
	}
	return faults
}

// amounts checks that requests of CPU and memory are greater than 0, and others not less than 0.
func amounts(at *field.Path, list corev1.ResourceList) (faults field.ErrorList) {
	for _, resource := range slices.Sorted(maps.Keys(list)) {
		q := list[resource]
		if q.Sign() < 0 || q.Sign() == 0 && (resource == corev1.ResourceCPU || resource == corev1.ResourceMemory) {
			faults = append(faults, invalid(at.Child(string(resource)), q.String(), "must be more than nothing"))
		}
	}
	return faults
}

func (m *Machine) checkResources(at *field.Path) (faults field.ErrorList) {
	in := at.Child("resources")
	faults = append(faults, amounts(in.Child("requests"), m.Resources.Requests)...)
	faults = append(faults, amounts(in.Child("limits"), m.Resources.Limits)...)
	for _, resource := range slices.Sorted(maps.Keys(m.Resources.Requests)) {
		q := m.Resources.Requests[resource]
		if limit, ok := m.Resources.Limits[resource]; ok && q.Cmp(limit) > 0 {
			faults = append(faults, invalid(in.Child("requests", string(resource)), q.String(), "is more than the limit of "+limit.String()))
		}
	}
	if m.Memory != nil {
		guest := func(name string, q *resource.Quantity) {
			if q != nil && q.Sign() <= 0 {
				faults = append(faults, invalid(at.Child("memory", name), q.String(), "must be more than nothing"))
			}
		}
		guest("guest", m.Memory.Guest)
		guest("maxGuest", m.Memory.MaxGuest)
	}
	if len(faults) == 0 && m.MemoryMiB() == 0 {
		faults = append(faults, field.Required(in.Child("requests", "memory"), "a virtual machine has memory: give it here, in limits, or as memory.guest"))
	}
	return faults
}

// given reports whether any field of a volume is set.
func (v *DataVolume) given() bool {
	return v.Source != nil || v.SourceRef != nil || v.PVC != nil || v.Storage != nil || v.PriorityClassName != "" || v.ContentType != "" ||
		len(v.Checkpoints) > 0 || v.FinalCheckpoint || v.Preallocation != nil
}

func (v *DataVolume) check(at *field.Path) (faults field.ErrorList) {
	populated := v.PVC != nil && (v.PVC.DataSource != nil || v.PVC.DataSourceRef != nil) ||
		v.Storage != nil && (v.Storage.DataSource != nil || v.Storage.DataSourceRef != nil)
	switch {
	case v.Source != nil && v.SourceRef != nil:
		faults = append(faults, field.Forbidden(at.Child("sourceRef"), "cannot be together with source"))
	case v.Source == nil && v.SourceRef == nil && !populated:
		faults = append(faults, field.Required(at.Child("source"), "source or sourceRef says what the volume is filled with"))
	}
	switch {
	case v.PVC != nil && v.Storage != nil:
		faults = append(faults, field.Forbidden(at.Child("storage"), "cannot be together with pvc"))
	case v.PVC == nil && v.Storage == nil:
		faults = append(faults, field.Required(at.Child("pvc"), "pvc or storage says what the volume is kept on"))
	}
	if v.SourceRef != nil && (v.SourceRef.Kind == "" || v.SourceRef.Name == "") {
		faults = append(faults, field.Required(at.Child("sourceRef", "name"), "kind and name say which source is meant"))
	}
	cloned := v.SourceRef != nil || populated
	if v.Source != nil {
		faults = append(faults, v.Source.check(at.Child("source"))...)
		cloned = cloned || v.Source.PVC != nil || v.Source.Snapshot != nil
	}
	name := "pvc"
	if v.PVC == nil {
		name = "storage"
	}
	switch size := v.Size(); {
	case size == nil && !cloned && (v.PVC != nil || v.Storage != nil):
		faults = append(faults, field.Required(at.Child(name, "resources", "requests", "storage"), "nothing else says how large the volume is"))
	case size != nil && size.Sign() <= 0:
		faults = append(faults, invalid(at.Child(name, "resources", "requests", "storage"), size.String(), "must be more than nothing"))
	}
	return faults
}

// check requires exactly one source, and the required fields of that source.
func (s *Source) check(at *field.Path) field.ErrorList {
	var given []string
	var faults field.ErrorList
	// If wanted is empty, the source has no required field.
	add := func(is bool, name, wanted, value string) {
		if !is {
			return
		}
		given = append(given, name)
		if wanted != "" && value == "" {
			faults = append(faults, field.Required(at.Child(name, wanted), "it says what the volume is filled with"))
		}
	}
	if s.HTTP != nil {
		add(true, "http", "url", s.HTTP.URL)
	}
	if s.S3 != nil {
		add(true, "s3", "url", s.S3.URL)
	}
	if s.GCS != nil {
		add(true, "gcs", "url", s.GCS.URL)
	}
	if r := s.Registry; r != nil {
		add(true, "registry", "url", text(r.URL)+text(r.ImageStream))
	}
	if s.PVC != nil {
		add(true, "pvc", "name", s.PVC.Name)
	}
	if s.Snapshot != nil {
		add(true, "snapshot", "name", s.Snapshot.Name)
	}
	if s.Imageio != nil {
		add(true, "imageio", "url", s.Imageio.URL)
	}
	if s.VDDK != nil {
		add(true, "vddk", "url", s.VDDK.URL)
	}
	add(s.Upload != nil, "upload", "", "")
	add(s.Blank != nil, "blank", "", "")
	switch len(given) {
	case 0:
		return field.ErrorList{field.Required(at, "one source says what the volume is filled with")}
	case 1:
		return faults
	}
	return field.ErrorList{field.Forbidden(at.Child(given[1]), "cannot be together with "+given[0])}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (m *Machine) checkVolumes(at *field.Path) (faults field.ErrorList) {
	in := at.Child("additionalVolumes")
	seen := map[string]bool{RootDisk: true, UserDataDisk: true}
	for i := range m.AdditionalVolumes {
		v, here := &m.AdditionalVolumes[i], in.Index(i)
		name := m.VolumeName(i)
		for _, why := range validation.IsDNS1123Label(name) {
			faults = append(faults, invalid(here.Child("name"), name, why))
		}
		if seen[name] {
			faults = append(faults, invalid(here.Child("name"), name, "is there twice"))
		}
		seen[name] = true
		switch {
		case (v.DataVolume == nil) == (v.VolumeSource == nil):
			faults = append(faults, field.Required(here, "exactly one of dataVolume and volumeSource must be given"))
		case v.DataVolume != nil:
			faults = append(faults, v.DataVolume.check(here.Child("dataVolume"))...)
		default:
			faults = append(faults, v.VolumeSource.check(here.Child("volumeSource"))...)
		}
	}
	return faults
}

func (s *VolumeSource) check(at *field.Path) field.ErrorList {
	var names []string
	if s.PersistentVolumeClaim != nil {
		names = append(names, s.PersistentVolumeClaim.ClaimName)
	}
	if s.ConfigMap != nil {
		names = append(names, s.ConfigMap.Name)
	}
	if s.Secret != nil {
		names = append(names, s.Secret.SecretName)
	}
	switch {
	case len(names) != 1:
		return field.ErrorList{field.Required(at, "exactly one of persistentVolumeClaim, configMap and secret must be given")}
	case names[0] == "":
		return field.ErrorList{field.Required(at, "it names nothing")}
	}
	return nil
}

func (m *Machine) checkDisks(at *field.Path) (faults field.ErrorList) {
	if m.Devices == nil {
		return nil
	}
	volumes := map[string]bool{RootDisk: true, UserDataDisk: true}
	for i := range m.AdditionalVolumes {
		volumes[m.VolumeName(i)] = true
	}
	seen := map[string]bool{}
	for i, d := range m.Devices.Disks {
		here := at.Child("devices", "disks").Index(i)
		switch {
		case !volumes[d.Name]:
			faults = append(faults, invalid(here.Child("name"), d.Name, "there is no volume of that name"))
		case seen[d.Name]:
			faults = append(faults, invalid(here.Child("name"), d.Name, "is there twice"))
		}
		seen[d.Name] = true
		if d.Disk != nil && d.LUN != nil || d.Disk != nil && d.CDRom != nil || d.LUN != nil && d.CDRom != nil {
			faults = append(faults, field.Forbidden(here, "at most one of disk, lun and cdrom can be given"))
		}
	}
	return faults
}

func (m *Machine) checkNetworks(at *field.Path) (faults field.ErrorList) {
	seen := map[string]bool{}
	defaults := 0
	for i, n := range m.Networks {
		parts := strings.Split(n.Name, "/")
		if n.Name == "" || len(parts) > 2 || slices.Contains(parts, "") {
			faults = append(faults, invalid(at.Index(i).Child("name"), n.Name, "must be <name> or <namespace>/<name>"))
		}
		if seen[n.Name] {
			faults = append(faults, invalid(at.Index(i).Child("name"), n.Name, "is there twice"))
		}
		seen[n.Name] = true
		if n.Default {
			defaults++
		}
		if n.Default && defaults > 1 {
			faults = append(faults, field.Forbidden(at.Index(i).Child("default"), "only one network can be the default"))
		}
	}
	return faults
}

func (m *Machine) checkDNS(at *field.Path) field.ErrorList {
	switch m.DNSPolicy {
	case "", corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault:
	case corev1.DNSNone:
		if m.DNSConfig == nil || len(m.DNSConfig.Nameservers) == 0 {
			return field.ErrorList{field.Required(at.Child("dnsConfig", "nameservers"), fmt.Sprintf("dnsPolicy %s requires nameservers", corev1.DNSNone))}
		}
	default:
		return field.ErrorList{field.NotSupported(at.Child("dnsPolicy"), lenient.Shown(m.DNSPolicy),
			[]corev1.DNSPolicy{corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone})}
	}
	return nil
}
