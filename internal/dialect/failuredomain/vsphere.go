package failuredomain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

type vSphere struct{}

func (vSphere) kind() string { return "VSphereMachineProviderSpec" }

func (vSphere) text(d Domain) string { return fields("VSphereFailureDomain", "Name:", d.Name) }

func (vSphere) list(fds machinev1.FailureDomains) (all []Domain, configured bool) {
	for _, fd := range fds.VSphere {
		all = append(all, Domain{Name: fd.Name})
	}
	return all, len(all) > 0
}

// zones returns the failure domains of an Infrastructure.
func zones(in *configv1.Infrastructure) []configv1.VSpherePlatformFailureDomainSpec {
	if in == nil || in.Spec.PlatformSpec.VSphere == nil {
		return nil
	}
	return in.Spec.PlatformSpec.VSphere.FailureDomains
}

func vmGroup(fd configv1.VSpherePlatformFailureDomainSpec) string {
	if fd.ZoneAffinity == nil || fd.ZoneAffinity.HostGroup == nil {
		return ""
	}
	return fd.ZoneAffinity.HostGroup.VMGroup
}

// pool is the resource pool of a failure domain: its own, else the root pool of its cluster.
func pool(t configv1.VSpherePlatformTopology) string {
	if t.ResourcePool != "" || t.ComputeCluster == "" {
		return t.ResourcePool
	}
	return path.Clean("/" + t.ComputeCluster + "/Resources")
}

// read also recognizes machines in the root pool of a cluster, in contrast to the replaced operator (K21).
func (vSphere) read(raw []byte, in *configv1.Infrastructure) (Domain, error) {
	s, err := decode[machinev1beta1.VSphereMachineProviderSpec](raw)
	w := s.Workspace
	if err != nil || w == nil {
		return Domain{}, err
	}
	for _, fd := range zones(in) {
		t := fd.Topology
		samePool := path.Clean(w.ResourcePool) == path.Clean(pool(t)) || w.ResourcePool == "" && t.ResourcePool == ""
		if w.Server == fd.Server && w.Datacenter == t.Datacenter && w.Datastore == t.Datastore && w.VMGroup == vmGroup(fd) && samePool {
			return Domain{Name: fd.Name}, nil
		}
	}
	return Domain{}, nil
}

func (vSphere) write(spec object, d Domain, in *configv1.Infrastructure) error {
	for _, fd := range zones(in) {
		if fd.Name != d.Name {
			continue
		}
		t := fd.Topology
		template := t.Template[strings.LastIndex(t.Template, "/")+1:]
		if template == "" {
			template = fmt.Sprintf("%s-rhcos-%s-%s", in.Status.InfrastructureName, fd.Region, fd.Zone)
		}
		return errors.Join(
			spec.set(machinev1beta1.Workspace{
				Server: fd.Server, Datacenter: t.Datacenter, Datastore: t.Datastore, ResourcePool: pool(t), VMGroup: vmGroup(fd),
				Folder: cmp.Or(t.Folder, fmt.Sprintf("/%s/vm/%s", t.Datacenter, in.Status.InfrastructureName)),
			}, "workspace"),
			spec.set(template, "template"),
			writeNetworks(spec, t.Networks),
		)
	}
	return fmt.Errorf("unknown failure domain: %w", errUndefined)
}

// devicesOf returns the network devices of a spec, with all their fields.
func devicesOf(spec object) ([]object, error) {
	network, err := decode[struct {
		Devices []object `json:"devices"`
	}](spec[spec.key("network")])
	return network.Devices, err
}

// writeNetworks gives the devices the networks of a failure domain. Devices whose first has addresses from pools stay otherwise as they are.
func writeNetworks(spec object, networks []string) error {
	if len(networks) == 0 {
		return nil
	}
	var devices []object
	if _, has := spec[spec.key("network")]; has {
		was, err := devicesOf(spec)
		if err != nil {
			return err
		}
		if len(was) > 0 && pooled(was[0]) {
			devices = was
		}
	}
	for i, name := range networks {
		if len(devices) <= i {
			devices = append(devices, object{})
		}
		if err := devices[i].set(name, "networkName"); err != nil {
			return err
		}
	}
	return spec.set(devices, "network", "devices")
}

// pooled reports whether a device has addresses from pools.
func pooled(device object) bool {
	var pools []json.RawMessage
	_ = json.Unmarshal(device[device.key(addressPools)], &pools)
	return len(pools) > 0
}

const addressPools = "addressesFromPools"

func (vSphere) compared(raw []byte) (any, error) {
	return relevant(raw, func(s *machinev1beta1.VSphereMachineProviderSpec) {
		s.Template = s.Template[strings.LastIndex(s.Template, "/")+1:]
		for i, d := range s.Network.Devices {
			s.Network.Devices[i] = machinev1beta1.NetworkDeviceSpec{NetworkName: d.NetworkName}
			if d.AddressesFromPools != nil {
				s.Network.Devices[i].AddressesFromPools, s.Network.Devices[i].Nameservers = d.AddressesFromPools, d.Nameservers
			}
		}
	})
}

var errNoDomains = errors.New("no failure domains were generated")

func (vSphere) generate(all []Domain) (*machinev1.FailureDomains, error) {
	var list []machinev1.VSphereFailureDomain
	for _, d := range all {
		if d.Name != "" {
			list = append(list, machinev1.VSphereFailureDomain{Name: d.Name})
		}
	}
	if len(list) == 0 {
		return nil, errNoDomains
	}
	return &machinev1.FailureDomains{Platform: configv1.VSpherePlatformType, VSphere: list}, nil
}

// clear keeps of the network devices only the address pools.
func (vSphere) clear(spec object, _ []Domain, _ *configv1.Infrastructure) error {
	errs := []error{spec.set(struct{}{}, "workspace"), spec.set("", "template")}
	if _, has := spec[spec.key("network")]; !has {
		return errors.Join(errs...)
	}
	was, err := devicesOf(spec)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	devices := []object{}
	for _, d := range was {
		if pooled(d) {
			devices = append(devices, object{addressPools: d[d.key(addressPools)]})
		}
	}
	return errors.Join(append(errs, spec.set(devices, "network", "devices"))...)
}
