package cloud_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/digitalocean/go-libvirt"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/libvirt/cloud"
	"github.com/millwright-dev/millwright/providers/libvirt/cloud/internal/daemon"
)

const (
	hostUUID  = "31079dcc-e372-4985-b752-3cc6f382b848"
	otherUUID = "5a1c9d0e-4b7f-4e2a-8c3d-1f2e3d4c5b6a"
)

// bench is one host under test, and a connection of another client to it.
type bench struct {
	t     testing.TB
	host  *daemon.Host
	uri   string
	other *libvirt.Libvirt
}

// serve lets a host listen on a socket with a short path, as the system requires.
func serve(t testing.TB, h *daemon.Host) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lv") //nolint:usetesting // The folders of tests are too long for the path of a socket.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go h.Listen(l)
	return socket
}

func newBench(t testing.TB) *bench {
	t.Helper()
	h := daemon.New(hostUUID)
	b := &bench{t: t, host: h, uri: "qemu+unix:///system?socket=" + serve(t, h)}
	b.other = connect(t, b.uri)
	return b
}

// start returns the provider of a new process.
func start() provider.Provider { return cloud.New(cloud.Config{Clock: clock.RealClock{}}) }

const openshiftSpec = `{"apiVersion":"libvirtproviderconfig.openshift.io/v1beta1","kind":"LibvirtMachineProviderConfig","uri":"URI","domainMemory":4096,` +
	`"domainVcpu":2,"volume":{"poolName":"CLUSTER","baseVolumeID":"base"},"networkInterfaceName":"default","networkInterfaceAddress":"192.168.126.0/24",` +
	`"ignition":{"userDataSecret":"worker-user-data"},"autostart":true}`

const gardenerSpec = `{"apiVersion":"libvirt.machine.millwright.dev/v1alpha1","kind":"MachineProviderConfig","uri":"URI","domainMemory":4096,` +
	`"domainVcpu":2,"volume":{"poolName":"CLUSTER","baseVolumeID":"base","volumeSize":"20Gi"},"networkInterfaceName":"default","cloudInit":{}}`

var specs = map[string]string{provider.OpenShift: openshiftSpec, provider.Gardener: gardenerSpec}

func (b *bench) class(api, cluster string) provider.Class {
	b.host.AddPool(cluster, "base")
	return provider.Class{
		API: api, Cluster: cluster, Spec: []byte(strings.NewReplacer("URI", b.uri, "CLUSTER", cluster).Replace(specs[api])),
		Credentials: map[string][]byte{"uri": []byte(b.uri)},
	}
}

func (b *bench) session(class provider.Class) provider.Session {
	b.t.Helper()
	s, err := start().Open(b.t.Context(), class)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// calls maps a verb to a procedure that serves it, and that no other part of the same call uses.
var calls = map[providertest.Verb]uint32{
	providertest.Find: daemon.ProcListDomains, providertest.Create: daemon.ProcDomainDefine, providertest.Delete: daemon.ProcDomainDestroy,
	providertest.List: daemon.ProcListDomains, providertest.Initialize: daemon.ProcDomainGetXMLDesc, providertest.Maintain: daemon.ProcDomainSetMetadata,
	providertest.Power: daemon.ProcDomainDestroy, providertest.Leftovers: daemon.ProcListPools,
}

// words are libvirt's errors by kind.
var words = map[provider.Kind]struct {
	code libvirt.ErrorNumber
	text string
}{
	provider.Transient: {libvirt.ErrInternalError, "internal error: client socket is closed"},
	provider.Denied:    {libvirt.ErrAccessDenied, "access denied: 'domain' denied access"},
	provider.Exhausted: {libvirt.ErrInternalError, "internal error: process exited while connecting to monitor: qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory"},
	provider.Invalid:   {libvirt.ErrConfigUnsupported, "unsupported configuration: CPU mode 'host-passthrough' for x86_64 qemu domain on x86_64 host is not supported by hypervisor"},
	provider.Conflict:  {libvirt.ErrOperationInvalid, "Requested operation is not valid: domain is being migrated"},
}

func (b *bench) inject(v providertest.Verb, f providertest.Fault) error {
	call, ok := calls[v]
	w, said := words[f.Kind]
	switch {
	case !ok:
		return providertest.Skip("opening makes no call")
	case f.Kind != "" && !said:
		return providertest.Skip("libvirt never says that it is asked too often")
	case f.Scope == provider.ScopeZone:
		return providertest.Skip("a host has no zones")
	case f.Duplicate:
		return providertest.Skip("libvirt has one domain of a UUID")
	}
	if f.Scope == provider.ScopeAccount {
		w.text = "cannot write data to file '/pools/x': No space left on device"
	}
	fault := daemon.Fault{Procedure: call, Code: w.code, Message: w.text, Done: f.Done, Stall: f.Stall, Delay: f.Slow}
	if f.Partial > 0 {
		fault.Procedure, fault.Skip = daemon.ProcDomainGetXMLDesc, f.Partial
	}
	b.host.Inject(fault)
	return nil
}

// marked returns the name and the metadata of the provider's domain for an instance; without a UID, as the
// original's, it has no metadata.
func marked(class provider.Class, i provider.Instance, id string) (name, metadata string) {
	if i.UID == "" {
		return i.Name, ""
	}
	return i.Name + "-" + id[:8], fmt.Sprintf(`<metadata><m:machine xmlns:m="https://millwright.dev/libvirt/machine" cluster="%s" uid="%s" owner="%s" namespace="%s" name="%s"/>`+
		`<b:begun xmlns:b="https://millwright.dev/libvirt/begun"/></metadata>`, class.Cluster, i.UID, class.Owner, i.Namespace, i.Name)
}

// plant defines a domain without the provider: with a UID as this provider does, without one as the original
// does.
func (b *bench) plant(class provider.Class, i provider.Instance) error {
	id := nextUUID()
	name, metadata := marked(class, i, id)
	if metadata == "" {
		b.host.AddVolume(class.Cluster, name)
		b.host.AddVolume(class.Cluster, name+".ignition")
	}
	return define(b.other, fmt.Sprintf(plantedXML, "kvm", name, id, metadata, "/pools/"+class.Cluster))
}

// plantedXML is the original's description of a domain.
const plantedXML = `<domain type='%s' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>%[2]s</name><uuid>%[3]s</uuid>%[4]s<memory unit='KiB'>4194304</memory><vcpu>2</vcpu>
<os><type>hvm</type></os><devices><disk type='file' device='disk'><source file='%[5]s/%[2]s'/><target dev='vda' bus='virtio'/></disk>
<interface type='network'><mac address='66:4f:16:3f:5f:0f'/><source network='default'/></interface></devices>
<qemu:commandline><qemu:arg value='-fw_cfg'/><qemu:arg value='name=opt/com.coreos/config,file=%[5]s/%[2]s.ignition'/></qemu:commandline></domain>`

func define(l *libvirt.Libvirt, text string) error {
	d, err := l.DomainDefineXMLFlags(text, 0)
	if err == nil {
		_, err = l.DomainCreateWithFlags(d, 0)
	}
	return err
}

// strip removes the ownership metadata of a domain.
func strip(l *libvirt.Libvirt, id string) error {
	d, err := l.DomainLookupByUUID(uuid(id))
	if err != nil {
		return err
	}
	return l.DomainSetMetadata(d, 2, nil, libvirt.OptString{"machine"}, libvirt.OptString{"https://millwright.dev/libvirt/machine"}, 3)
}

func remove(l *libvirt.Libvirt, id string) error {
	d, err := l.DomainLookupByUUID(uuid(id))
	if err != nil {
		return err
	}
	if err := l.DomainDestroyFlags(d, 0); err != nil {
		return err
	}
	return l.DomainUndefineFlags(d, 0)
}

func uuid(text string) (u libvirt.UUID) {
	raw, _ := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	copy(u[:], raw)
	return u
}

// leave creates a machine's volumes and ends before the domain.
func (b *bench) leave(class provider.Class, ref provider.Ref) error {
	w := words[provider.Transient]
	b.host.Inject(daemon.Fault{Procedure: daemon.ProcDomainDefine, Code: w.code, Message: w.text})
	s, err := start().Open(b.t.Context(), class)
	if err == nil {
		_, err = s.Create(b.t.Context(), ref, provider.Want{UserData: []byte("{}")})
	}
	if provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("the domain was made: %w", err)
	}
	return nil
}

// count counts domains of the cluster, and the volumes of its pool.
func (b *bench) count(class provider.Class) (instances, dependants int, err error) {
	all, _, err := b.other.ConnectListAllDomains(1, 0)
	for _, d := range all {
		text, err := b.other.DomainGetXMLDesc(d, 0)
		if err != nil {
			return 0, 0, err
		}
		if strings.Contains(text, `cluster="`+class.Cluster+`"`) || strings.Contains(text, "'/pools/"+class.Cluster+"/") {
			instances++
		}
	}
	return instances, len(b.host.Volumes(class.Cluster)) - 1, err
}

func (b *bench) harness() providertest.Harness {
	const id = `libvirt:///[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`
	return providertest.Harness{
		Start:      func() provider.Provider { return decorate.Fallback(start()) },
		Class:      b.class,
		UserData:   []byte(`{"ignition":{"version":"3.2.0"}}`),
		ProviderID: map[string]*regexp.Regexp{provider.OpenShift: regexp.MustCompile(id), provider.Gardener: regexp.MustCompile(id)},
		BadSpecs:   badSpecs,
		Spellings: func(i provider.Instance) []string {
			return []string{"libvirt:///" + strings.ToUpper(i.ID), "libvirt:///" + strings.ReplaceAll(i.ID, "-", "")}
		},
		Changed: func(class provider.Class) provider.Class {
			class.Spec = bytes.ReplaceAll(class.Spec, []byte(`"domainMemory":4096`), []byte(`"domainMemory":8192`))
			return class
		},
		Choices: func(class provider.Class) provider.Class {
			class.Fallbacks = [][]byte{[]byte(`{"domainMemory":2048}`)}
			return class
		},
		Knobs: providertest.Knobs{
			Inject: b.inject, Plant: b.plant, Leave: b.leave, Count: b.count,
			Remove: func(_ provider.Class, id string) error { return remove(b.other, id) },
			Strip:  func(_ provider.Class, id string) error { return strip(b.other, id) },
			Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
				h := daemon.New(otherUUID)
				h.AddPool(class.Cluster, "base")
				uri := "qemu+unix:///system?socket=" + serve(b.t, h)
				class.Spec = bytes.ReplaceAll(class.Spec, []byte(b.uri), []byte(uri))
				class.Credentials = map[string][]byte{"uri": []byte(uri)}
				return start().Open(ctx, class)
			},
		},
	}
}

var badSpecs = []providertest.BadSpec{
	{Reason: "no memory", API: provider.OpenShift, Spec: strings.Replace(openshiftSpec, "4096", "0", 1), Field: "domainMemory"},
	{Reason: "no base volume", API: provider.OpenShift, Spec: strings.Replace(openshiftSpec, `"base"`, `""`, 1), Field: "volume.baseVolumeID"},
	{Reason: "a text for a number", API: provider.OpenShift, Spec: strings.Replace(openshiftSpec, "4096", `"big"`, 1), Field: "domainMemory"},
	{Reason: "no URI", API: provider.OpenShift, Spec: openshiftSpec, Field: "uri"},
	{Reason: "an unknown field", API: provider.Gardener, Spec: `{"rack":1}`, Field: "rack"},
	{Reason: "no CPUs", API: provider.Gardener, Spec: strings.Replace(gardenerSpec, `"domainVcpu":2`, `"domainVcpu":0`, 1), Field: "domainVcpu"},
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newBench(t).harness() })
}
