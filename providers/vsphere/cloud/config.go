package cloud

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// The options that pass data to guests.
const (
	optionIgnition = "guestinfo.ignition.config.data"
	optionHostname = "guestinfo.hostname"
	optionUserData = "guestinfo.userdata"
	optionMetadata = "guestinfo.metadata"
	optionKargs    = "guestinfo.afterburn.initrd.network-kargs"
	optionStealing = "stealclock.enable" // lets the guest see CPU time that others had
	encoding       = ".encoding"
	encodingBase64 = "base64"
	propertyIgnite = "guestinfo.coreos.config.data"
	propertyData   = "user-data"
	propertyHost   = "hostname"
	guestContainer = "coreos64Guest"
	guestFlatcar   = "other4xLinux64Guest"
)

// config has the differences of the clone from its template, except devices.
func (s creator) config(ctx context.Context, t *templateVM, r provider.Ref, want provider.Want) (*types.VirtualMachineConfigSpec, error) {
	p := s.plan
	config := &types.VirtualMachineConfigSpec{
		// The original's annotation. It is for users: the provider reads nothing from it.
		Annotation: r.Name, InstanceUuid: s.uuids(r)[0],
		Flags:   &types.VirtualMachineFlagInfo{DiskUuidEnabled: &yes}, // drivers of volumes identify disks by them
		NumCPUs: p.cpus, MemoryMB: p.memoryMiB, MemoryReservationLockedToMax: p.lockMemory, GuestId: p.guest.id,
	}
	if p.cores > 0 {
		config.NumCoresPerSocket = &p.cores
	}
	options := map[string]string{}
	maps.Copy(options, p.guest.extra)
	var err error
	if s.class.API == provider.Gardener {
		config.VAppConfig, err = s.gardenerGuest(t, r, want, options)
	} else {
		err = s.openShiftGuest(ctx, r, want, options)
	}
	if err != nil {
		return nil, err
	}
	maps.Copy(options, s.identity(r))
	for _, key := range identityKeys { // a template that was created from a node has the node's owner, and the note that it ran
		if _, ok := options[key]; !ok {
			options[key] = ""
		}
	}
	config.ExtraConfig = listed(options)
	return config, nil
}

func listed(options map[string]string) (all []types.BaseOptionValue) {
	for _, key := range sorted(options) {
		all = append(all, &types.OptionValue{Key: key, Value: options[key]})
	}
	return all
}

// identity records the owner of a virtual machine, and the parts of its spec that it does not show.
func (s creator) identity(r provider.Ref) map[string]string {
	all := map[string]string{
		keyUID: r.UID, keyNamespace: r.Namespace, keyName: r.Name, keyOwner: s.class.Owner, keyCluster: s.class.Cluster,
		keyTemplate: s.plan.template, keyGroup: s.plan.placement.vmGroup,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" }) // an option without a value is not stored
	return all
}

// openShiftGuest passes to a guest with Ignition what the original passes to it.
func (s creator) openShiftGuest(ctx context.Context, r provider.Ref, want provider.Want, options map[string]string) error {
	if data := plainText(want.UserData); len(data) > 0 {
		options[optionIgnition] = base64.StdEncoding.EncodeToString(data)
		options[optionIgnition+encoding] = encodingBase64
	}
	options[optionHostname] = r.Name
	options[optionStealing] = "TRUE"
	kargs, err := s.kernelArguments(ctx, r)
	if err == nil && kargs != "" {
		options[optionKargs] = kargs
	}
	return err
}

// plainText decodes user data that may have been encoded before it was stored in the secret, once or more.
func plainText(data []byte) []byte {
	for range 5 {
		inner, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
		if err != nil || len(inner) == 0 {
			break
		}
		data = inner
	}
	return data
}

// gardenerGuest passes user data in the form that the guest's operating system reads: by the properties of
// a vApp, as the original does, and without a vApp in the template by options, which today's images read.
func (s creator) gardenerGuest(t *templateVM, r provider.Ref, want provider.Want, options map[string]string) (types.BaseVmConfigSpec, error) {
	if p := s.plan.guest.properties; p != nil {
		return s.vApp(t, p, "vapp.properties")
	}
	id := s.plan.guest.id
	if id == "" {
		id = t.guestID
	}
	if id == guestContainer || id == guestFlatcar {
		text, err := ignition(id, r.Name, want.UserData, s.plan.guest.sshKeys)
		if err != nil {
			return nil, err
		}
		if t.has(propertyIgnite) {
			return s.vApp(t, map[string]string{propertyIgnite: text}, "templateVM")
		}
		options[optionIgnition] = base64.StdEncoding.EncodeToString([]byte(text))
		options[optionIgnition+encoding] = encodingBase64
		options[optionHostname] = r.Name
		return nil, nil
	}
	data, err := cloudInit(want.UserData, s.plan.guest.sshKeys)
	if err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString(data)
	if t.has(propertyData) && t.has(propertyHost) {
		return s.vApp(t, map[string]string{propertyHost: r.Name, propertyData: text}, "templateVM")
	}
	metadata, err := json.Marshal(map[string]string{"local-hostname": r.Name, "instance-id": s.uuids(r)[0]})
	options[optionUserData], options[optionUserData+encoding] = text, encodingBase64
	options[optionMetadata], options[optionMetadata+encoding] = base64.StdEncoding.EncodeToString(metadata), encodingBase64
	return nil, err
}

func (t *templateVM) has(property string) bool {
	return slices.ContainsFunc(t.properties, func(p types.VAppPropertyInfo) bool { return p.Id == property && settable(p) })
}

func settable(p types.VAppPropertyInfo) bool { return p.UserConfigurable != nil && *p.UserConfigurable }

// vApp sets properties of the template's vApp. Other properties get their defaults, so that a clone does
// not inherit values that a user gave to the template.
func (s creator) vApp(t *templateVM, values map[string]string, field string) (types.BaseVmConfigSpec, error) {
	field = s.plan.field(field)
	if !t.hasVApp {
		if len(values) == 0 {
			return nil, nil
		}
		return nil, provider.InvalidField(field, "the template has no vApp, whose properties could be set")
	}
	config, left := &types.VmConfigSpec{}, maps.Clone(values)
	for _, p := range t.properties {
		value, given := left[p.Id]
		delete(left, p.Id)
		if !settable(p) {
			if given {
				return nil, provider.InvalidField(field+"."+p.Id, "the template's vApp does not allow setting this property")
			}
			continue
		}
		if !given {
			value = p.DefaultValue
		}
		if value == "" {
			value = " " // an empty one is ignored
		}
		info := types.VAppPropertyInfo{Key: p.Key, Id: p.Id, Value: value, UserConfigurable: p.UserConfigurable}
		config.Property = append(config.Property, types.VAppPropertySpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit}, Info: &info})
	}
	for _, name := range sorted(left) {
		return nil, provider.InvalidField(field+"."+name, "the template's vApp has no such property")
	}
	return config, nil
}

// customization is a specification that the vCenter stores.
func (s creator) customization(ctx context.Context, c *conn) (*types.CustomizationSpec, error) {
	name := s.plan.guest.customization
	if name == "" {
		return nil, nil
	}
	m := object.NewCustomizationSpecManager(c.vim)
	there, err := m.DoesCustomizationSpecExist(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("look for the customization %s: %w", name, err)
	}
	if !there {
		return nil, provider.InvalidField(s.plan.field("customization"), "the vCenter has no customization specification %q", name)
	}
	item, err := m.GetCustomizationSpec(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read the customization %s: %w", name, err)
	}
	return &item.Spec, nil
}
