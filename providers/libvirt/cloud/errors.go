package cloud

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// kinds maps libvirt's errors to kinds. Other errors are Transient: those of the daemon, of the network, and
// libvirt's internal errors.
var kinds = map[libvirt.ErrorNumber]provider.Kind{
	libvirt.ErrAuthFailed:        provider.Denied,
	libvirt.ErrAuthCancelled:     provider.Denied,
	libvirt.ErrAuthUnavailable:   provider.Denied,
	libvirt.ErrAccessDenied:      provider.Denied,
	libvirt.ErrOperationDenied:   provider.Denied, // the connection is read-only
	libvirt.ErrOperationInvalid:  provider.Conflict,
	libvirt.ErrResourceBusy:      provider.Conflict,
	libvirt.ErrXMLError:          provider.Invalid,
	libvirt.ErrXMLDetail:         provider.Invalid,
	libvirt.ErrXMLInvalidSchema:  provider.Invalid,
	libvirt.ErrInvalidArg:        provider.Invalid,
	libvirt.ErrConfigUnsupported: provider.Invalid,
	libvirt.ErrOsType:            provider.Invalid,
	libvirt.ErrUnknownHost:       provider.Invalid,
}

// used has texts of errors about exhausted resources, with their scope: a smaller guest may still get enough
// memory. libvirt passes them on from the system and from QEMU, as internal errors, system errors or failed
// operations.
var used = []struct {
	text  string
	scope provider.Scope
}{
	{"Cannot allocate memory", provider.ScopeType},
	{"cannot set up guest memory", provider.ScopeType},
	{"No space left on device", provider.ScopeAccount},
	{"Disk quota exceeded", provider.ScopeAccount},
	{"not enough free space", provider.ScopeAccount},
}

// classify converts an error to one of package provider. nil stays nil.
func classify(err error) error {
	if errors.Is(err, fs.ErrPermission) { // of the socket
		return &provider.Error{Kind: provider.Denied, Err: err}
	}
	e, ok := errors.AsType[libvirt.Error](err)
	if !ok {
		return err
	}
	for _, u := range used {
		if strings.Contains(e.Message, u.text) {
			return &provider.Error{Kind: provider.Exhausted, Scope: u.scope, Err: err}
		}
	}
	if kind, ok := kinds[libvirt.ErrorNumber(e.Code)]; ok {
		return &provider.Error{Kind: kind, Err: err}
	}
	return &provider.Error{Kind: provider.Transient, Err: err}
}

// is reports whether the error is one of libvirt's errors with these numbers.
func is(err error, numbers ...libvirt.ErrorNumber) bool {
	e, ok := errors.AsType[libvirt.Error](err)
	if !ok {
		return false
	}
	for _, n := range numbers {
		if libvirt.ErrorNumber(e.Code) == n {
			return true
		}
	}
	return false
}

// missing converts a not-found error of libvirt to an error of the spec's field.
func missing(err error, field string, numbers ...libvirt.ErrorNumber) error {
	if is(err, numbers...) {
		return &provider.Error{Kind: provider.Invalid, Field: field, Err: err}
	}
	return err
}

// unsupported reports whether a driver lacks the called function.
func unsupported(err error) bool {
	return is(err, libvirt.ErrNoSupport, libvirt.ErrArgumentUnsupported, libvirt.ErrOperationUnsupported) || errors.Is(err, libvirt.ErrUnsupported)
}
