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

// creator has the input of one machine's creation.
type creator struct {
	call
	ref    provider.Ref
	choice choice
	tags   map[string]*string
}

// Create implements [provider.Session]. It creates the resources that the machine needs before the machine,
// each under its own name and at most once, and creates the machine on condition that none of its name
// exists: a second request, with another password, changes nothing.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.plan == nil {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to make a machine of")
	}
	choice, err := s.plan.choose(want.Choice)
	if err != nil {
		return provider.Instance{}, err
	}
	if err := s.plan.check(ref.Name); err != nil {
		return provider.Instance{}, err
	}
	c, err := s.newCall(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	made, namesake, err := c.find(ctx, ref)
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
	if k := kept(s.plan.disks); k != "" {
		own[tagKept] = k
	}
	cr := &creator{call: c, ref: ref, choice: choice, tags: s.ours.fitting(merged(s.plan.tags, own))}
	return cr.create(ctx, want)
}

// taken is the error for a name that another resource has.
func (o ownership) taken(what, name string, tags map[string]*string) error {
	whose := "of an unknown owner"
	switch uid := tagOf(tags, tagUID); {
	case !o.has(tags):
		whose = "not this cluster's"
	case uid != "":
		whose = "the machine's with the UID " + uid
	}
	return provider.Errorf(provider.Conflict, "the name is taken: %s %s is %s", what, name, whose)
}

func (cr *creator) create(ctx context.Context, want provider.Want) (none provider.Instance, err error) {
	b := vmInput{name: cr.ref.Name, choice: cr.choice, userData: want.UserData, tags: cr.tags}
	if b.key, err = nobodysKey(); err != nil {
		return none, err
	}
	if b.plan, err = cr.purchasePlan(ctx); err != nil {
		return none, err
	}
	nic, err := cr.nic(ctx)
	if err != nil {
		return none, err
	}
	b.nic = deref(nic.ID)
	if b.set, err = cr.set(ctx); err != nil {
		return none, err
	}
	if b.disks, err = cr.disks(ctx); err != nil {
		return none, err
	}
	vm := cr.plan.machine(b)
	vm.Location = to.Ptr(cr.plan.location)
	return cr.createVM(ctx, vm, nic)
}

// createVM creates the machine. It does not wait for it.
func (cr *creator) createVM(ctx context.Context, vm *compute.VirtualMachine, nic *network.Interface) (provider.Instance, error) {
	made, err := begin[compute.VirtualMachine](ctx, func(ctx context.Context) (*runtime.Poller[compute.VirtualMachinesClientCreateOrUpdateResponse], error) {
		return cr.compute.NewVirtualMachinesClient().BeginCreateOrUpdate(ctx, cr.group, cr.ref.Name, *vm,
			&compute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: to.Ptr("*")})
	})
	if exists(err) {
		return cr.existing(ctx)
	}
	if err != nil {
		return provider.Instance{}, cr.observe(err, "make virtual machine %s", cr.ref.Name)
	}
	return cr.toInstance(made, observed{nics: []*network.Interface{nic}}), nil
}

// existing reads the machine whose name exists already.
func (cr *creator) existing(ctx context.Context) (provider.Instance, error) {
	vm, err := cr.machine(ctx, cr.group, cr.ref.Name)
	switch {
	case err != nil:
		return provider.Instance{}, err
	case vm == nil:
		return provider.Instance{}, provider.Errorf(provider.Conflict, "virtual machine %s was there a moment ago", cr.ref.Name)
	case !cr.ours.mine(vm, cr.ref):
		return provider.Instance{}, cr.ours.taken("virtual machine", cr.ref.Name, vm.Tags)
	}
	return cr.detail(ctx, vm)
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
func (cr *creator) set(ctx context.Context) (string, error) {
	if cr.plan.setFor == nil || cr.choice.zone != "" {
		return "", nil
	}
	name := cr.plan.setFor(cr.ref.Name)
	if name == "" {
		return "", nil
	}
	sizes, err := cr.sizes(ctx)
	if err != nil {
		return "", err
	}
	size, ok := sizes.find(cr.choice.size)
	if !ok || len(size.zones) > 0 {
		return "", nil
	}
	id := formatID(cr.subscription, cr.group, "Microsoft.Compute", "availabilitySets", name)
	sets := cr.compute.NewAvailabilitySetsClient()
	has, err := sets.Get(ctx, cr.group, name, nil)
	if err == nil {
		if !cr.ours.has(has.Tags) {
			return "", cr.ours.taken("availability set", name, has.Tags)
		}
		return id, nil
	}
	if !isMissing(err) {
		return "", cr.observe(err, "read availability set %s", name)
	}
	fault, update := sizes.domains()
	_, err = sets.CreateOrUpdate(ctx, cr.group, name, compute.AvailabilitySet{
		Location: to.Ptr(cr.plan.location), Tags: merged(cr.plan.tags, map[string]string{tagCluster: cr.class.Cluster}),
		SKU: &compute.SKU{Name: to.Ptr("Aligned")},
		Properties: &compute.AvailabilitySetProperties{
			PlatformFaultDomainCount: to.Ptr(fault), PlatformUpdateDomainCount: to.Ptr(update),
		},
	}, nil)
	if err != nil {
		return "", cr.observe(err, "make availability set %s", name)
	}
	return id, nil
}

// disks creates data disks from images: the machine attaches them unchanged. Unusable ones are deleted
// first.
func (cr *creator) disks(ctx context.Context) (map[int32]string, error) {
	out := map[int32]string{}
	disks := cr.compute.NewDisksClient()
	for _, d := range cr.plan.disks {
		if d.image == nil {
			continue
		}
		name := cr.plan.names.disk(cr.ref.Name, d.name, d.lun)
		has, err := disks.Get(ctx, cr.group, name, nil)
		switch {
		case err == nil && tagOf(has.Tags, tagUID) != cr.ref.UID:
			return nil, cr.ours.taken("disk", name, has.Tags)
		case err == nil && cr.flaw(&has.Disk) == "":
			if err := finished(&has.Disk, name); err != nil {
				return nil, err
			}
			out[d.lun] = deref(has.ID)
			continue
		case err == nil:
			if _, err := disks.BeginDelete(ctx, cr.group, name, nil); err != nil {
				return nil, cr.observe(err, "remove disk %s, which %s", name, cr.flaw(&has.Disk))
			}
			return nil, provider.Errorf(provider.Conflict, "disk %s, which %s, is being removed, and is then made again", name, cr.flaw(&has.Disk))
		case !isMissing(err):
			return nil, cr.observe(err, "read disk %s", name)
		}
		id, err := cr.disk(ctx, name, d)
		if err != nil {
			return nil, err
		}
		out[d.lun] = id
	}
	return out, nil
}

// flaw is the reason why a disk of this machine is unusable: it was created for another choice, or Azure
// failed to create it and shows no cause. Empty: it is usable.
func (cr *creator) flaw(d *compute.Disk) string {
	switch zone := zoneOf(d.Zones); {
	case zone != cr.choice.zone:
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
func (cr *creator) disk(ctx context.Context, name string, d dataDisk) (string, error) {
	source := &compute.CreationData{CreateOption: to.Ptr(compute.DiskCreateOptionFromImage)}
	switch i := d.image; {
	case !spec.Blank(i.ID):
		source.ImageReference = &compute.ImageDiskReference{ID: to.Ptr(i.ID)}
	case !spec.Blank(deref(i.SharedGalleryImageID)):
		source.GalleryImageReference = &compute.ImageDiskReference{SharedGalleryImageID: i.SharedGalleryImageID}
	case !spec.Blank(deref(i.CommunityGalleryImageID)):
		source.GalleryImageReference = &compute.ImageDiskReference{CommunityGalleryImageID: i.CommunityGalleryImageID}
	default:
		image, err := cr.marketImage(ctx, deref(i.URN))
		if err != nil {
			return "", err
		}
		source.ImageReference = &compute.ImageDiskReference{ID: image.ID}
	}
	made, err := begin[compute.Disk](ctx, func(ctx context.Context) (*runtime.Poller[compute.DisksClientCreateOrUpdateResponse], error) {
		return cr.compute.NewDisksClient().BeginCreateOrUpdate(ctx, cr.group, name, compute.Disk{
			Location: to.Ptr(cr.plan.location), Tags: cr.tags, Zones: zones(cr.choice.zone), SKU: &compute.DiskSKU{Name: to.Ptr(compute.DiskStorageAccountTypes(d.kind))},
			Properties: &compute.DiskProperties{CreationData: source, DiskSizeGB: to.Ptr(d.size), OSType: to.Ptr(compute.OperatingSystemTypesLinux)},
		}, nil)
	})
	if err != nil {
		return "", cr.observe(err, "make disk %s", name)
	}
	return formatID(cr.subscription, cr.group, "Microsoft.Compute", "disks", name), finished(made, name)
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
