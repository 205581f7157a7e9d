package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// faulty is an error with a fault of the API: of a call or of a task.
type faulty interface {
	error
	Fault() types.BaseMethodFault
}

func faultOf(err error) types.BaseMethodFault {
	if f, ok := errors.AsType[faulty](err); ok {
		return f.Fault()
	}
	return nil
}

// taskError is why a task failed.
type taskError struct{ fault *types.LocalizedMethodFault }

func (e taskError) Fault() types.BaseMethodFault { return e.fault.Fault }

// Error is the vCenter's text, or the name of the fault.
func (e taskError) Error() string {
	name := reflect.TypeOf(e.fault.Fault)
	if name == nil {
		return e.fault.LocalizedMessage
	}
	for name.Kind() == reflect.Pointer {
		name = name.Elem()
	}
	if e.fault.LocalizedMessage == "" {
		return name.Name()
	}
	return e.fault.LocalizedMessage + " (" + name.Name() + ")"
}

// busyError is an answer of the proxy in front of a vCenter that accepts no more requests.
type busyError struct {
	status int
	after  time.Duration
}

func (e *busyError) Error() string {
	return fmt.Sprintf("the vCenter takes no more requests (%d %s)", e.status, http.StatusText(e.status))
}

// notAuthenticated reports whether the session of SOAP has ended.
func notAuthenticated(err error) bool {
	_, ok := faultOf(err).(*types.NotAuthenticated)
	return ok
}

// answered reports whether an error is an answer of the REST API with the status.
func answered(err error, status int) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if rest.IsStatusError(err, status) {
			return true
		}
	}
	return false
}

// gone reports whether the object of a call does not exist any more.
func gone(err error) bool {
	_, ok := faultOf(err).(*types.ManagedObjectNotFound)
	return ok
}

// underWay reports whether another operation on the same object prevents a call.
func underWay(err error) bool {
	switch faultOf(err).(type) {
	case *types.TaskInProgress, *types.VAppTaskInProgress, *types.ConcurrentAccess:
		return true
	}
	return false
}

// classify classifies an error by what the engine does about it.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if busy, ok := errors.AsType[*busyError](err); ok {
		return provider.ThrottledFor(busy.after, busy)
	}
	if answered(err, http.StatusUnauthorized) || answered(err, http.StatusForbidden) {
		return provider.Errorf(provider.Denied, "%w", err)
	}
	fault := faultOf(err)
	if lacks := privileges(fault); lacks != "" {
		return provider.Errorf(provider.Denied, "%w: this user lacks the privilege %s", plain(err), lacks)
	}
	kind, scope := kindOf(fault)
	return &provider.Error{Kind: kind, Scope: scope, Err: plain(err)}
}

// privileges names those that a user lacks, and on which objects, as far as the vCenter reports them; newer
// ones report all of them.
func privileges(fault types.BaseMethodFault) string {
	denied, ok := fault.(*types.NoPermission)
	if !ok {
		return ""
	}
	var all []string
	for _, missing := range denied.MissingPrivileges {
		for _, id := range missing.PrivilegeIds {
			all = append(all, id+" on "+missing.Entity.String())
		}
	}
	if len(all) == 0 && denied.PrivilegeId != "" {
		on := ""
		if denied.Object != nil {
			on = " on " + denied.Object.String()
		}
		all = []string{denied.PrivilegeId + on}
	}
	return strings.Join(all, ", ")
}

// plainError is an error without the prefix that SOAP puts before the text of each fault.
type plainError struct{ error }

func (e plainError) Error() string { return strings.TrimPrefix(e.error.Error(), "ServerFaultCode: ") }
func (e plainError) Unwrap() error { return e.error }

func plain(err error) error { return plainError{err} }

// kindOf classifies a fault. An exhaustion has the scope of its resource: a license is the vCenter's, CPU
// and memory are a cluster's. vSphere has no instance types: our type has the template, the size, the pool
// and the datastore, so that a full datastore, and the lack of a compatible host, are the type's.
// GenericVmConfigFault, which hosts use for any failure, and unreachable networks and devices may be
// temporary: wrong names in the spec are found before.
func kindOf(fault types.BaseMethodFault) (provider.Kind, provider.Scope) {
	switch fault.(type) {
	case *types.NoPermission, *types.InvalidLogin, *types.NotAuthenticated, *types.NoPermissionOnHost, *types.PasswordExpired, *types.RestrictedByAdministrator:
		return provider.Denied, ""
	case *types.NotEnoughLicenses, *types.LicenseExpired, *types.LicenseRestricted, *types.NoLicenseServerConfigured, *types.MultipleSnapshotsNotSupported:
		return provider.Exhausted, provider.ScopeAccount
	case *types.NoCompatibleHost, *types.NoCompatibleHostWithAccessToDevice, *types.NotEnoughLogicalCpus, *types.NumVirtualCpusExceedsLimit,
		*types.MemorySizeNotSupported, *types.NoDiskSpace, *types.InsufficientStorageSpace, *types.InsufficientStorageIops, *types.SwapDatastoreUnset:
		return provider.Exhausted, provider.ScopeType
	case *types.OutOfBounds, *types.NoActiveHostInCluster, *types.NoHost, *types.MaintenanceModeFileMove:
		return provider.Exhausted, provider.ScopeZone
	case *types.TaskInProgress, *types.VAppTaskInProgress, *types.ConcurrentAccess, *types.ResourceInUse, *types.InvalidPowerState, *types.DuplicateName,
		*types.AlreadyExists, *types.FileLocked, *types.FileAlreadyExists, *types.HostNotConnected, *types.InvalidState, *types.MethodDisabled:
		return provider.Conflict, ""
	case *types.InvalidArgument, *types.InvalidName, *types.InvalidDatastore, *types.InvalidDatastorePath, *types.InvalidFolder, *types.InvalidDeviceSpec,
		*types.InvalidVmConfig, *types.NotSupported, *types.MissingController, *types.UnsupportedGuest, *types.UnsupportedVimApiVersion, *types.CustomizationFault,
		*types.InvalidType, *types.NotFound, *types.InvalidProperty, *types.VirtualHardwareVersionNotSupported,
		*types.DeviceNotSupported, *types.InvalidDeviceBacking, *types.InvalidController, *types.TooManyDevices:
		return provider.Invalid, ""
	}
	if _, ok := fault.(types.BaseInsufficientResourcesFault); ok { // CPU, memory, failover level, agents, bandwidth
		return provider.Exhausted, provider.ScopeZone
	}
	return provider.Transient, ""
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// misplaced is the error of a lookup of an object that a field of the spec names.
func misplaced(err error, field, what, name string) error {
	switch {
	case err == nil:
		return nil
	case is[*find.NotFoundError](err), is[*find.DefaultNotFoundError](err):
		if name == "" {
			return provider.InvalidField(field, "the vCenter has no %s, or shows none to this user", what)
		}
		return provider.InvalidField(field, "there is no %s %q, or this user does not see it", what, name)
	case is[*find.MultipleFoundError](err), is[*find.DefaultMultipleFoundError](err):
		if name == "" {
			return provider.InvalidField(field, "the vCenter has several of the kind %s: give one", what)
		}
		return provider.InvalidField(field, "there are several of the kind %s that %q may mean: give the whole path", what, name)
	}
	return fmt.Errorf("find the %s %q: %w", what, name, err)
}
