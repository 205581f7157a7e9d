package cloud

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// templateVM is the template. It is shared: do not change it.
type templateVM struct {
	devices    object.VirtualDeviceList
	guestID    string
	hardware   int
	properties []types.VAppPropertyInfo
	hasVApp    bool
	current    *ref
	snapshots  map[string]ref // by name, and by path of names
}

func (s creator) readTemplate(ctx context.Context, c *conn, template ref) (*templateVM, error) {
	t, err := remember(ctx, c.memo, "devices of "+template.Value, func() (*templateVM, error) {
		var m mo.VirtualMachine
		paths := []string{"config.hardware.device", "config.guestId", "config.version", "config.vAppConfig", "snapshot"}
		if err := property.DefaultCollector(c.vim).RetrieveOne(ctx, template, paths, &m); err != nil {
			return nil, fmt.Errorf("read the template %s: %w", s.plan.template, err)
		}
		if m.Config == nil {
			return nil, provider.Errorf(provider.Conflict, "the template %s is being made", s.plan.template)
		}
		return newTemplateVM(m), nil
	})
	if err != nil {
		return nil, err
	}
	if least := s.plan.placement.hardware; t.hardware < least && !s.plan.placement.upgrade {
		return nil, provider.InvalidField(s.plan.field("template"), "the virtual hardware of the template has version %d: at least %d is needed", t.hardware, least)
	}
	return t, nil
}

func newTemplateVM(m mo.VirtualMachine) *templateVM {
	t := &templateVM{devices: m.Config.Hardware.Device, guestID: m.Config.GuestId, hardware: hardwareVersion(m.Config.Version), snapshots: map[string]ref{}}
	if m.Config.VAppConfig != nil {
		t.hasVApp, t.properties = true, m.Config.VAppConfig.GetVmConfigInfo().Property
	}
	if m.Snapshot != nil {
		t.current = m.Snapshot.CurrentSnapshot
		t.note("", m.Snapshot.RootSnapshotList)
	}
	return t
}

// note records snapshots by their names and paths. Of several with one name the first one counts.
func (t *templateVM) note(above string, tree []types.VirtualMachineSnapshotTree) {
	for _, s := range tree {
		for _, name := range []string{s.Name, above + s.Name, s.Snapshot.Value} {
			if _, ok := t.snapshots[name]; !ok {
				t.snapshots[name] = s.Snapshot
			}
		}
		t.note(above+s.Name+"/", s.ChildSnapshotList)
	}
}

// hardwareVersion is the number in "vmx-15"; 0 if there is no number.
func hardwareVersion(version string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(version, "vmx-"))
	if err != nil {
		return 0
	}
	return n
}
