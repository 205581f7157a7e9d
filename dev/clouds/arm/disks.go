package arm

import (
	"context"
	"net/http"
	"strings"
	"time"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	cfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
)

// disk is a managed disk. A stored disk is never changed; a change stores a new one.
type disk struct {
	target
	model   compute.Disk
	vm      string // the machine that has it
	created time.Time
	ready   time.Time
	failed  bool
}

func (d *disk) view(now time.Time) compute.Disk {
	out := d.model
	out.Properties = shallow(out.Properties)
	out.ID, out.Name, out.Type = to.Ptr(d.id()), to.Ptr(d.name), to.Ptr("Microsoft.Compute/disks")
	out.Properties.ProvisioningState, out.Properties.TimeCreated = to.Ptr("Succeeded"), to.Ptr(d.created.UTC())
	if now.Before(d.ready) {
		out.Properties.ProvisioningState = to.Ptr("Updating")
	} else if d.failed {
		out.Properties.ProvisioningState = to.Ptr("Failed")
	}
	out.Properties.DiskState = to.Ptr(compute.DiskStateUnattached)
	if d.vm != "" {
		out.ManagedBy, out.Properties.DiskState = to.Ptr(d.vm), to.Ptr(compute.DiskStateAttached)
	}
	return out
}

// diskCalls are the calls about disks and availability sets.
type diskCalls struct{ *call }

func (c diskCalls) diskServer() *cfake.DisksServer {
	return &cfake.DisksServer{
		BeginCreateOrUpdate: func(_ context.Context, _, _ string, p compute.Disk, _ *compute.DisksClientBeginCreateOrUpdateOptions) (azfake.PollerResponder[compute.DisksClientCreateOrUpdateResponse], azfake.ErrorResponder) {
			d, err := c.putDisk(p)
			if err != nil {
				return begun(0, compute.DisksClientCreateOrUpdateResponse{}, err)
			}
			return begun(http.StatusAccepted, compute.DisksClientCreateOrUpdateResponse{Disk: d.view(c.clock.Now())}, nil)
		},
		BeginDelete: func(context.Context, string, string, *compute.DisksClientBeginDeleteOptions) (azfake.PollerResponder[compute.DisksClientDeleteResponse], azfake.ErrorResponder) {
			d, ok := c.disks.Get(c.key())
			if !ok {
				return begun(http.StatusNoContent, compute.DisksClientDeleteResponse{}, nil)
			}
			if d.vm != "" {
				return begun(0, compute.DisksClientDeleteResponse{}, refuse(http.StatusConflict, "OperationNotAllowed", "Disk %s is attached to VM %s.", d.name, d.vm))
			}
			c.disks.Delete(d.key())
			c.begin("disk", 0)
			return begun(http.StatusAccepted, compute.DisksClientDeleteResponse{}, nil)
		},
		BeginUpdate: func(_ context.Context, _, _ string, u compute.DiskUpdate, _ *compute.DisksClientBeginUpdateOptions) (azfake.PollerResponder[compute.DisksClientUpdateResponse], azfake.ErrorResponder) {
			d, err := c.tagDisk(u.Tags)
			if err != nil {
				return begun(0, compute.DisksClientUpdateResponse{}, err)
			}
			return begun(http.StatusAccepted, compute.DisksClientUpdateResponse{Disk: d.view(c.clock.Now())}, nil)
		},
		Get: func(context.Context, string, string, *compute.DisksClientGetOptions) (azfake.Responder[compute.DisksClientGetResponse], azfake.ErrorResponder) {
			d, ok := c.disks.Get(c.key())
			if !ok {
				return done(compute.DisksClientGetResponse{}, c.missing())
			}
			return done(compute.DisksClientGetResponse{Disk: d.view(c.clock.Now())}, nil)
		},
		NewListByResourceGroupPager: func(string, *compute.DisksClientListByResourceGroupOptions) azfake.PagerResponder[compute.DisksClientListByResourceGroupResponse] {
			page, next := paged(c.call, c.listDisks())
			return onePage(compute.DisksClientListByResourceGroupResponse{DiskList: compute.DiskList{Value: page, NextLink: next}})
		},
		NewListPager: func(*compute.DisksClientListOptions) azfake.PagerResponder[compute.DisksClientListResponse] {
			page, next := paged(c.call, c.listDisks())
			return onePage(compute.DisksClientListResponse{DiskList: compute.DiskList{Value: page, NextLink: next}})
		},
	}
}

// tagDisk replaces the tags of a disk, whether it is in use or not.
func (c diskCalls) tagDisk(tags map[string]*string) (*disk, *apiError) {
	d, ok := c.disks.Get(c.key())
	if !ok {
		return nil, c.missing()
	}
	if err := tagFault(tags); err != nil {
		return nil, err
	}
	next := *d
	next.model.Tags = tags
	c.disks.Put(d.key(), &next)
	c.begin("disk", 0)
	return &next, nil
}

func (c diskCalls) listDisks() (all []*compute.Disk) {
	for _, d := range c.disks.AllBehind(c.Lag()) {
		if c.here(d.target) {
			all = append(all, to.Ptr(d.view(c.clock.Now())))
		}
	}
	return all
}

func (c diskCalls) putDisk(p compute.Disk) (*disk, *apiError) {
	if err := tagFault(p.Tags); err != nil {
		return nil, err
	}
	if p.Properties == nil || p.Properties.CreationData == nil {
		return nil, refuse(http.StatusBadRequest, "InvalidParameter", "Required parameter 'creationData' is missing (null).").about("creationData")
	}
	d := &disk{target: c.target, model: clone(p), created: c.clock.Now(), ready: c.clock.Now().Add(c.Network)}
	if was, ok := c.disks.Get(c.key()); ok {
		if zoneOf(was.model.Zones) != zoneOf(p.Zones) {
			return nil, refuse(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property 'zones' is not allowed.").about("zones")
		}
		d.vm, d.created = was.vm, was.created
	}
	c.disks.Put(d.key(), d)
	c.begin("disk", 0)
	return d, nil
}

func zoneOf(zones []*string) string {
	if len(zones) == 0 {
		return ""
	}
	return deref(zones[0])
}

// availabilitySet is a created availability set.
type availabilitySet struct {
	target
	model compute.AvailabilitySet
}

func (c diskCalls) setServer() *cfake.AvailabilitySetsServer {
	return &cfake.AvailabilitySetsServer{
		CreateOrUpdate: func(_ context.Context, _, _ string, s compute.AvailabilitySet, _ *compute.AvailabilitySetsClientCreateOrUpdateOptions) (azfake.Responder[compute.AvailabilitySetsClientCreateOrUpdateResponse], azfake.ErrorResponder) {
			if err := tagFault(s.Tags); err != nil {
				return done(compute.AvailabilitySetsClientCreateOrUpdateResponse{}, err)
			}
			set := &availabilitySet{target: c.target, model: clone(s)}
			c.sets.Put(set.key(), set)
			return done(compute.AvailabilitySetsClientCreateOrUpdateResponse{AvailabilitySet: c.setView(set)}, nil)
		},
		Get: func(context.Context, string, string, *compute.AvailabilitySetsClientGetOptions) (azfake.Responder[compute.AvailabilitySetsClientGetResponse], azfake.ErrorResponder) {
			set, ok := c.sets.Get(c.key())
			if !ok {
				return done(compute.AvailabilitySetsClientGetResponse{}, c.missing())
			}
			return done(compute.AvailabilitySetsClientGetResponse{AvailabilitySet: c.setView(set)}, nil)
		},
		Delete: func(context.Context, string, string, *compute.AvailabilitySetsClientDeleteOptions) (azfake.Responder[compute.AvailabilitySetsClientDeleteResponse], azfake.ErrorResponder) {
			set, ok := c.sets.Get(c.key())
			if ok && len(c.setView(set).Properties.VirtualMachines) > 0 {
				return done(compute.AvailabilitySetsClientDeleteResponse{}, refuse(http.StatusConflict, "OperationNotAllowed", "Availability Set '%s' cannot be deleted. Before deleting an Availability Set please ensure that it does not contain any VM.", set.name))
			}
			if ok {
				c.sets.Delete(set.key())
			}
			return done(compute.AvailabilitySetsClientDeleteResponse{}, nil)
		},
	}
}

func (c diskCalls) setView(set *availabilitySet) compute.AvailabilitySet {
	out := clone(set.model)
	out.ID, out.Name, out.Type = to.Ptr(set.id()), to.Ptr(set.name), to.Ptr("Microsoft.Compute/availabilitySets")
	if out.Properties == nil {
		out.Properties = &compute.AvailabilitySetProperties{}
	}
	for _, m := range c.vms.All() {
		if ref := m.model.Properties.AvailabilitySet; ref != nil && strings.EqualFold(deref(ref.ID), set.id()) {
			out.Properties.VirtualMachines = append(out.Properties.VirtualMachines, &compute.SubResource{ID: to.Ptr(m.id())})
		}
	}
	return out
}
