package cloud

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// creation has the input of one machine's creation.
type creation struct {
	scene
	ref    provider.Ref
	choice choice
	tags   map[string]*string
}

// Create implements [provider.Session]. It creates the resources that the machine needs before the machine,
// each under its own name and at most once, and creates the machine on condition that none of its name
// exists: a second request, with another password, changes nothing.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.design == nil {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to make a machine of")
	}
	choice, err := s.design.choose(want.Choice)
	if err != nil {
		return provider.Instance{}, err
	}
	if err := s.design.check(ref.Name); err != nil {
		return provider.Instance{}, err
	}
	sc, err := s.scene(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	made, namesake, err := sc.find(ctx, ref)
	if err != nil {
		return provider.Instance{}, err
	}
	if existing := provider.Existing(made); len(existing) > 0 {
		return existing[0], nil
	}
	if namesake != nil {
		return provider.Instance{}, s.ours.taken("virtual machine", ref.Name, namesake.Tags)
	}
	own := s.ours.mark(s.class, ref)
	if k := kept(s.design.disks); k != "" {
		own[tagKept] = k
	}
	m := &creation{scene: sc, ref: ref, choice: choice, tags: s.ours.fitting(merged(s.design.tags, own))}
	return m.make(ctx, want)
}

// taken is the error for a name that another resource has.
func (o ownership) taken(what, name string, tags map[string]*string) error {
	whose := "nobody's that it tells"
	switch uid := tagOf(tags, tagUID); {
	case !o.has(tags):
		whose = "not this cluster's"
	case uid != "":
		whose = "the machine's with the UID " + uid
	}
	return provider.Errorf(provider.Conflict, "the name is taken: %s %s is %s", what, name, whose)
}

func (m *creation) make(ctx context.Context, want provider.Want) (none provider.Instance, err error) {
	b := build{name: m.ref.Name, choice: m.choice, userData: want.UserData, tags: m.tags}
	if b.key, err = nobodysKey(); err != nil {
		return none, err
	}
	if b.plan, err = m.plan(ctx); err != nil {
		return none, err
	}
	nic, err := m.nic(ctx)
	if err != nil {
		return none, err
	}
	b.nic = deref(nic.ID)
	if b.set, err = m.set(ctx); err != nil {
		return none, err
	}
	if b.disks, err = m.disks(ctx); err != nil {
		return none, err
	}
	vm := m.design.machine(b)
	vm.Location = to.Ptr(m.design.location)
	return m.put(ctx, vm, nic)
}

// put creates the machine. It does not wait for it.
func (m *creation) put(ctx context.Context, vm *compute.VirtualMachine, nic *network.Interface) (provider.Instance, error) {
	made, err := begin[compute.VirtualMachine](ctx, func(ctx context.Context) (*runtime.Poller[compute.VirtualMachinesClientCreateOrUpdateResponse], error) {
		return m.compute.NewVirtualMachinesClient().BeginCreateOrUpdate(ctx, m.group, m.ref.Name, *vm,
			&compute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: to.Ptr("*")})
	})
	if exists(err) {
		return m.again(ctx)
	}
	if err != nil {
		return provider.Instance{}, m.told(err, "make virtual machine %s", m.ref.Name)
	}
	return m.instance(made, sight{nics: []*network.Interface{nic}}), nil
}

// again reads the machine whose name exists already.
func (m *creation) again(ctx context.Context) (provider.Instance, error) {
	vm, err := m.machine(ctx, m.group, m.ref.Name)
	switch {
	case err != nil:
		return provider.Instance{}, err
	case vm == nil:
		return provider.Instance{}, provider.Errorf(provider.Conflict, "virtual machine %s was there a moment ago", m.ref.Name)
	case !m.ours.mine(vm, m.ref):
		return provider.Instance{}, m.ours.taken("virtual machine", m.ref.Name, vm.Tags)
	}
	return m.detail(ctx, vm)
}

// begin begins a long-running operation and returns the resource in the answer.
func begin[T, R any](ctx context.Context, call func(context.Context) (*runtime.Poller[R], error)) (*T, error) {
	var resp *http.Response
	_, err := call(policy.WithCaptureResponse(ctx, &resp))
	if err != nil {
		return nil, err
	}
	made := new(T)
	if err := runtime.UnmarshalAsJSON(resp, made); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return made, nil
}

// set is the ID of the availability set that the original of OpenShift creates for the machines of a set,
// if the size is in no zone.
func (m *creation) set(ctx context.Context) (string, error) {
	if m.design.setFor == nil || m.choice.zone != "" {
		return "", nil
	}
	name := m.design.setFor(m.ref.Name)
	if name == "" {
		return "", nil
	}
	sizes, err := m.sizes(ctx)
	if err != nil {
		return "", err
	}
	size, ok := sizes.find(m.choice.size)
	if !ok || len(size.zones) > 0 {
		return "", nil
	}
	id := resourceID(m.subscription, m.group, "Microsoft.Compute", "availabilitySets", name)
	sets := m.compute.NewAvailabilitySetsClient()
	has, err := sets.Get(ctx, m.group, name, nil)
	if err == nil {
		if !m.ours.has(has.Tags) {
			return "", m.ours.taken("availability set", name, has.Tags)
		}
		return id, nil
	}
	if !isMissing(err) {
		return "", m.told(err, "read availability set %s", name)
	}
	fault, update := sizes.domains()
	_, err = sets.CreateOrUpdate(ctx, m.group, name, compute.AvailabilitySet{
		Location: to.Ptr(m.design.location), Tags: merged(m.design.tags, map[string]string{tagCluster: m.class.Cluster}),
		SKU: &compute.SKU{Name: to.Ptr("Aligned")},
		Properties: &compute.AvailabilitySetProperties{
			PlatformFaultDomainCount: to.Ptr(fault), PlatformUpdateDomainCount: to.Ptr(update),
		},
	}, nil)
	if err != nil {
		return "", m.told(err, "make availability set %s", name)
	}
	return id, nil
}

// disks creates data disks from images: the machine attaches them unchanged. Unusable ones are deleted
// first.
func (m *creation) disks(ctx context.Context) (map[int32]string, error) {
	out := map[int32]string{}
	disks := m.compute.NewDisksClient()
	for _, d := range m.design.disks {
		if d.image == nil {
			continue
		}
		name := m.design.names.disk(m.ref.Name, d.name, d.lun)
		has, err := disks.Get(ctx, m.group, name, nil)
		switch {
		case err == nil && tagOf(has.Tags, tagUID) != m.ref.UID:
			return nil, m.ours.taken("disk", name, has.Tags)
		case err == nil && m.flaw(&has.Disk) == "":
			if err := finished(&has.Disk, name); err != nil {
				return nil, err
			}
			out[d.lun] = deref(has.ID)
			continue
		case err == nil:
			if _, err := disks.BeginDelete(ctx, m.group, name, nil); err != nil {
				return nil, m.told(err, "remove disk %s, which %s", name, m.flaw(&has.Disk))
			}
			return nil, provider.Errorf(provider.Conflict, "disk %s, which %s, is being removed, and is then made again", name, m.flaw(&has.Disk))
		case !isMissing(err):
			return nil, m.told(err, "read disk %s", name)
		}
		id, err := m.disk(ctx, name, d)
		if err != nil {
			return nil, err
		}
		out[d.lun] = id
	}
	return out, nil
}

// flaw is the reason why a disk of this machine is unusable: it was created for another choice, or Azure
// failed to create it and shows no cause. Empty: it is usable.
func (m *creation) flaw(d *compute.Disk) string {
	switch zone := zoneOf(d.Zones); {
	case zone != m.choice.zone:
		return fmt.Sprintf("is in zone %q", zone)
	case d.Properties != nil && strings.EqualFold(deref(d.Properties.ProvisioningState), failed):
		return "Azure failed to make"
	}
	return ""
}

func zoneOf(zones []*string) string {
	if len(zones) == 0 {
		return ""
	}
	return deref(zones[0])
}

// disk creates a disk from an image.
func (m *creation) disk(ctx context.Context, name string, d dataDisk) (string, error) {
	source := &compute.CreationData{CreateOption: to.Ptr(compute.DiskCreateOptionFromImage)}
	switch i := d.image; {
	case !spec.Blank(i.ID):
		source.ImageReference = &compute.ImageDiskReference{ID: to.Ptr(i.ID)}
	case !spec.Blank(deref(i.SharedGalleryImageID)):
		source.GalleryImageReference = &compute.ImageDiskReference{SharedGalleryImageID: i.SharedGalleryImageID}
	case !spec.Blank(deref(i.CommunityGalleryImageID)):
		source.GalleryImageReference = &compute.ImageDiskReference{CommunityGalleryImageID: i.CommunityGalleryImageID}
	default:
		image, err := m.marketImage(ctx, deref(i.URN))
		if err != nil {
			return "", err
		}
		source.ImageReference = &compute.ImageDiskReference{ID: image.ID}
	}
	made, err := begin[compute.Disk](ctx, func(ctx context.Context) (*runtime.Poller[compute.DisksClientCreateOrUpdateResponse], error) {
		return m.compute.NewDisksClient().BeginCreateOrUpdate(ctx, m.group, name, compute.Disk{
			Location: to.Ptr(m.design.location), Tags: m.tags, Zones: zones(m.choice.zone), SKU: &compute.DiskSKU{Name: to.Ptr(compute.DiskStorageAccountTypes(d.kind))},
			Properties: &compute.DiskProperties{CreationData: source, DiskSizeGB: to.Ptr(d.size), OSType: to.Ptr(compute.OperatingSystemTypesLinux)},
		}, nil)
	})
	if err != nil {
		return "", m.told(err, "make disk %s", name)
	}
	return resourceID(m.subscription, m.group, "Microsoft.Compute", "disks", name), finished(made, name)
}

func finished(d *compute.Disk, name string) error {
	if d.Properties == nil {
		return nil
	}
	return unfinished("disk", name, deref(d.Properties.ProvisioningState))
}

// unfinished is the error for a resource that the machine needs and whose creation is in progress.
func unfinished[S ~string](what, name string, state S) error {
	if state != "" && state != succeeded {
		return provider.Errorf(provider.Conflict, "%s %s is %s", what, name, strings.ToLower(string(state)))
	}
	return nil
}
