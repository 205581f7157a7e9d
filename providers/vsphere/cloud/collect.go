package cloud

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

type ref = types.ManagedObjectReference

// vm has the properties that were read of a virtual machine.
type vm struct {
	ref                ref
	name               string
	instanceUUID, uuid string
	power              types.VirtualMachinePowerState
	template           bool
	hardware           string // the version
	created            time.Time
	host               *ref
	extra              map[string]string // of identityKeys
	attributes         map[int32]string
	guestName          string
	nics               []types.GuestNicInfo
	cpus, memoryMiB    int32
	// tags are IDs; they are known only after a call to the tagging service has succeeded.
	tags        []string
	tagsUnknown bool
}

// The properties of a vm. The relevant options are requested one by one: all options are as long as the
// user data.
var properties = func() []string {
	all := []string{
		"name", "config.instanceUuid", "config.uuid", "config.template", "config.version", "config.createDate", "config.hardware.numCPU",
		"config.hardware.memoryMB", "runtime.powerState", "runtime.host", "guest.hostName", "guest.net", "customValue",
	}
	for _, key := range identityKeys {
		all = append(all, optionPath(key))
	}
	return all
}()

func optionPath(key string) string { return fmt.Sprintf("config.extraConfig[%q]", key) }

// collect yields the results of a property collector, page by page.
func (c *conn) collect(ctx context.Context, spec types.PropertyFilterSpec, page int32) iter.Seq2[types.ObjectContent, error] {
	return func(yield func(types.ObjectContent, error) bool) {
		req := types.RetrievePropertiesEx{This: c.vim.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec}}
		if page > 0 {
			req.Options.MaxObjects = page
		}
		first, err := methods.RetrievePropertiesEx(ctx, c.vim, &req)
		if err != nil {
			yield(types.ObjectContent{}, err)
			return
		}
		if first.Returnval == nil {
			return
		}
		objects, token := first.Returnval.Objects, first.Returnval.Token
		for {
			for _, o := range objects {
				if err := missing(o); !yield(o, err) || err != nil {
					return
				}
			}
			if token == "" {
				return
			}
			next, err := methods.ContinueRetrievePropertiesEx(ctx, c.vim, &types.ContinueRetrievePropertiesEx{This: req.This, Token: token})
			if err != nil {
				yield(types.ObjectContent{}, err)
				return
			}
			objects, token = next.Returnval.Objects, next.Returnval.Token
		}
	}
}

// missing is the reason why an answer is incomplete: without a privilege the vCenter leaves out a property,
// as if it did not exist.
func missing(o types.ObjectContent) error {
	for _, m := range o.MissingSet {
		switch m.Fault.Fault.(type) {
		case *types.NoPermission, *types.NotAuthenticated:
			return fmt.Errorf("read %s of %s: %w", m.Path, o.Obj.Value, taskError{&m.Fault})
		}
	}
	return nil
}

// below collects properties of all virtual machines under a folder.
func below(folder ref, paths []string) types.PropertyFilterSpec {
	yes := true
	folders := &types.SelectionSpec{Name: "folders"}
	return types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: folder, Skip: &yes, SelectSet: []types.BaseSelectionSpec{
			&types.TraversalSpec{
				SelectionSpec: types.SelectionSpec{Name: "folders"}, Type: "Folder", Path: "childEntity",
				SelectSet: []types.BaseSelectionSpec{folders, &types.SelectionSpec{Name: "datacenters"}, &types.SelectionSpec{Name: "vApps"}},
			},
			&types.TraversalSpec{
				SelectionSpec: types.SelectionSpec{Name: "datacenters"}, Type: "Datacenter", Path: "vmFolder",
				SelectSet: []types.BaseSelectionSpec{folders},
			},
			&types.TraversalSpec{SelectionSpec: types.SelectionSpec{Name: "vApps"}, Type: "VirtualApp", Path: "vm"},
		}}},
		PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: paths}},
	}
}

// read reads virtual machines. Those that were deleted meanwhile are left out.
func (c *conn) read(ctx context.Context, refs []ref) (all []*vm, err error) {
	refs = slices.Clone(refs)
	for len(refs) > 0 {
		spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: properties}}}
		for _, r := range refs {
			spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: r})
		}
		all, err = nil, nil
		for o, e := range c.collect(ctx, spec, 0) {
			if err = e; err != nil {
				break
			}
			all = append(all, newVM(o))
		}
		fault, ok := faultOf(err).(*types.ManagedObjectNotFound)
		if !ok {
			return all, err
		}
		rest := slices.DeleteFunc(slices.Clone(refs), func(r ref) bool { return r == fault.Obj })
		if len(rest) == len(refs) {
			return nil, err
		}
		refs = rest
	}
	return nil, nil
}

func newVM(o types.ObjectContent) *vm {
	v := &vm{ref: o.Obj, extra: map[string]string{}, attributes: map[int32]string{}}
	for _, p := range o.PropSet {
		v.set(p)
	}
	return v
}

func (v *vm) set(p types.DynamicProperty) {
	switch value := p.Val.(type) {
	case string:
		v.setText(p.Name, value)
	case bool:
		v.template = value
	case int32:
		if p.Name == "config.hardware.numCPU" {
			v.cpus = value
		} else {
			v.memoryMiB = value
		}
	case time.Time:
		v.created = value
	case types.VirtualMachinePowerState:
		v.power = value
	case ref:
		v.host = &value
	case types.OptionValue:
		v.extra[value.Key] = fmt.Sprint(value.Value)
	case types.ArrayOfGuestNicInfo:
		v.nics = value.GuestNicInfo
	case types.ArrayOfCustomFieldValue:
		for _, f := range value.CustomFieldValue {
			if s, ok := f.(*types.CustomFieldStringValue); ok {
				v.attributes[s.Key] = s.Value
			}
		}
	}
}

func (v *vm) setText(name, value string) {
	switch name {
	case "name":
		v.name = value
	case "config.instanceUuid":
		v.instanceUUID = strings.ToLower(value)
	case "config.uuid":
		v.uuid = strings.ToLower(value)
	case "config.version":
		v.hardware = value
	case "guest.hostName":
		v.guestName = value
	}
}

// legible is a Conflict if the vCenter cannot read the configuration of a virtual machine.
func (v *vm) legible() error {
	if v.uuid != "" {
		return nil
	}
	return provider.Errorf(provider.Conflict, "the vCenter cannot read the configuration of %s: its owner is unknown", v.name)
}

// copied reports whether a user has copied a virtual machine with all its options: it has neither the name
// nor the UUID that belong to them.
func (v *vm) copied(api string) bool {
	uid, name := v.extra[keyUID], v.extra[keyName]
	if uid == "" || name == "" || v.name == name {
		return false
	}
	return !slices.Contains(instanceUUIDs(api, v.extra[keyCluster], refOf(uid)), v.instanceUUID)
}

// byUUID finds virtual machines by instance UUID, or by BIOS UUID.
func (c *conn) byUUID(ctx context.Context, datacenter *ref, uuid string, instance bool) ([]ref, error) {
	r, err := methods.FindAllByUuid(ctx, c.vim, &types.FindAllByUuid{
		This: *c.vim.ServiceContent.SearchIndex, Datacenter: datacenter, Uuid: uuid, VmSearch: true, InstanceUuid: &instance,
	})
	if err != nil {
		return nil, err
	}
	return r.Returnval, nil
}

// byName finds virtual machines of a name in all folders below one. There is no index of names, so the
// vCenter lists all names.
func (c *conn) byName(ctx context.Context, folder ref, name string, page int32) (all []ref, err error) {
	for o, err := range c.collect(ctx, below(folder, []string{"name"}), 4*page) {
		if err != nil {
			return nil, err
		}
		for _, p := range o.PropSet {
			if p.Val == name {
				all = append(all, o.Obj)
			}
		}
	}
	return all, nil
}
