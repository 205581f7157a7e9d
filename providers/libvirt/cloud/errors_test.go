package cloud_test

import (
	"testing"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/libvirt/cloud/internal/daemon"
)

// TestErrors: libvirt's errors during a creation, word for word as in its versions 9 to 12.
func TestErrors(t *testing.T) {
	for _, r := range []struct {
		reason, message string
		at              uint32
		code            libvirt.ErrorNumber
		kind            provider.Kind
		scope           provider.Scope
	}{
		{"no memory on the host", "internal error: qemu unexpectedly closed the monitor: qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory", daemon.ProcDomainCreate, libvirt.ErrInternalError, provider.Exhausted, provider.ScopeType},
		{"no room in the pool", "cannot write data to file '/pools/c1/x': No space left on device", daemon.ProcStorageVolUpload, libvirt.ErrSystemError, provider.Exhausted, provider.ScopeAccount},
		{"a user without rights", "access denied: 'QEMU' denied access", daemon.ProcDomainDefine, libvirt.ErrAccessDenied, provider.Denied, ""},
		{"a connection that only reads", "operation forbidden: read only access prevents virDomainDefineXMLFlags", daemon.ProcDomainDefine, libvirt.ErrOperationDenied, provider.Denied, ""},
		{"a login that failed", "authentication failed: Failed to start SASL negotiation", daemon.ProcListDomains, libvirt.ErrAuthFailed, provider.Denied, ""},
		{"what the host cannot run", "unsupported configuration: Emulator '/usr/bin/qemu-system-x86_64' does not support virt type 'kvm'", daemon.ProcDomainDefine, libvirt.ErrConfigUnsupported, provider.Invalid, ""},
		{"something else at work on it", "Timed out during operation: cannot acquire state change lock", daemon.ProcDomainCreate, libvirt.ErrOperationTimeout, provider.Transient, ""},
		{"a domain that moves", "Requested operation is not valid: domain is being migrated", daemon.ProcDomainCreate, libvirt.ErrOperationInvalid, provider.Conflict, ""},
		{"a daemon that stops", "internal error: client socket is closed", daemon.ProcListPools, libvirt.ErrInternalError, provider.Transient, ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			b := newBench(t)
			b.host.Inject(daemon.Fault{Procedure: r.at, Code: r.code, Message: r.message})
			_, err := b.session(b.class(provider.OpenShift, "c1")).Create(t.Context(), machine, provider.Want{UserData: []byte(ignition)})
			if provider.KindOf(err) != r.kind || r.scope != "" && provider.ScopeOf(err) != r.scope {
				t.Errorf("%q, want %q: %v", provider.KindOf(err), r.kind, err)
			}
			if left := b.volumes("c1"); r.kind == provider.Exhausted && len(left) > 0 {
				t.Errorf("volumes %q are left", left)
			}
		})
	}
}

// TestNotThere: a name in the spec that the host does not have is an error of the field.
func TestNotThere(t *testing.T) {
	for field, patch := range map[string][2]string{
		"volume.poolName":      {`"poolName":"c1"`, `"poolName":"none"`},
		"volume.baseVolumeID":  {`"baseVolumeID":"base"`, `"baseVolumeID":"none"`},
		"networkInterfaceName": {`"networkInterfaceName":"default"`, `"networkInterfaceName":"none"`},
		"networkUUID":          {`"domainVcpu":2`, `"domainVcpu":2,"networkUUID":"6e3c2a4f-8d1b-4c5a-9e7f-0a1b2c3d4e5f"`},
		"ignKey":               {`"ignition":{"userDataSecret":"worker-user-data"}`, `"ignKey":"/pools/c1/none"`},
	} {
		b := newBench(t)
		class := b.class(provider.OpenShift, "c1")
		class.Spec = []byte(replaceOnce(t, string(class.Spec), patch))
		_, err := b.session(class).Create(t.Context(), machine, provider.Want{UserData: []byte(ignition)})
		if provider.KindOf(err) != provider.Invalid || !names(err, field) || len(b.volumes("c1")) > 0 {
			t.Errorf("%s: %v, and volumes %q", field, err, b.volumes("c1"))
		}
	}
}
