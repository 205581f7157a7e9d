package cloud_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// judge is libvirt's own test driver, in a real libvirtd. It keeps its state while a client is connected,
// boots at once, and its volumes have no content, so that machines are created without user data.
type judge struct {
	t     *testing.T
	uri   string
	other *libvirt.Libvirt
}

// newJudge skips the test unless LIBVIRTD is the socket of a libvirtd: see hack/libvirt.
func newJudge(t *testing.T) *judge {
	t.Helper()
	socket := os.Getenv("LIBVIRTD")
	if socket == "" {
		t.Skip("LIBVIRTD names no socket of a libvirtd: `make test-libvirt` starts one")
	}
	uri := "test+unix:///default?socket=" + socket
	return &judge{t: t, uri: uri, other: connect(t, uri)}
}

var judged = map[string]string{
	provider.OpenShift: `{"uri":"URI","domainMemory":64,"domainVcpu":1,"volume":{"poolName":"CLUSTER","baseVolumeID":"base"},"networkInterfaceAddress":"192.168.122.0/24","autostart":true}`,
	provider.Gardener:  `{"uri":"URI","domainMemory":64,"domainVcpu":1,"volume":{"poolName":"CLUSTER","baseVolumeID":"base","volumeSize":"20Mi"}}`,
}

func (j *judge) class(api, cluster string) provider.Class {
	j.t.Helper()
	if _, err := j.other.StoragePoolLookupByName(cluster); err != nil {
		p, err := j.other.StoragePoolCreateXML(fmt.Sprintf("<pool type='dir'><name>%s</name><target><path>/pools/%[1]s</path></target></pool>", cluster), 0)
		if err == nil {
			_, err = j.other.StorageVolCreateXML(p, "<volume><name>base</name><capacity unit='bytes'>10485760</capacity><target><format type='qcow2'/></target></volume>", 0)
		}
		if err != nil {
			j.t.Fatal(err)
		}
	}
	return provider.Class{
		API: api, Cluster: cluster, Spec: []byte(strings.NewReplacer("URI", j.uri, "CLUSTER", cluster).Replace(judged[api])),
		Credentials: map[string][]byte{"uri": []byte(j.uri)},
	}
}

// plantedForJudge is the original's domain for cloud-init: its other forms of user data need QEMU.
const plantedForJudge = `<domain type='test'><name>%[1]s</name><uuid>%[2]s</uuid>%[3]s<memory unit='MiB'>64</memory><vcpu>1</vcpu><os><type>hvm</type></os><devices>
<disk type='file' device='disk'><source file='%[4]s/%[1]s'/><target dev='vda' bus='virtio'/></disk>
<disk type='file' device='cdrom'><source file='%[4]s/%[1]s_cloud-init'/><target dev='hdd' bus='ide'/><readonly/></disk></devices></domain>`

func (j *judge) plant(class provider.Class, i provider.Instance) error {
	id := nextUUID()
	name, metadata := marked(class, i, id)
	if metadata == "" {
		p, err := j.other.StoragePoolLookupByName(class.Cluster)
		if err != nil {
			return err
		}
		for _, v := range []string{name, name + "_cloud-init"} {
			if _, err := j.other.StorageVolCreateXML(p, "<volume><name>"+v+"</name><capacity>1</capacity></volume>", 0); err != nil {
				return err
			}
		}
	}
	// All users of the test driver share one namespace: names of domains are those of the machines of one
	// check.
	return define(j.other, fmt.Sprintf(plantedForJudge, name, id, metadata, "/pools/"+class.Cluster))
}

func (j *judge) count(class provider.Class) (instances, dependants int, err error) {
	all, _, err := j.other.ConnectListAllDomains(1, 0)
	if err != nil {
		return 0, 0, err
	}
	for _, d := range all {
		text, err := j.other.DomainGetXMLDesc(d, 0)
		if err != nil {
			return 0, 0, err
		}
		if strings.Contains(text, `"`+class.Cluster+`"`) || strings.Contains(text, "'/pools/"+class.Cluster+"/") {
			instances++
		}
	}
	p, err := j.other.StoragePoolLookupByName(class.Cluster)
	if err != nil {
		return 0, 0, err
	}
	volumes, _, err := j.other.StoragePoolListAllVolumes(p, 1, 0)
	return instances, len(volumes) - 1, err
}

// clear deletes the domains of a check: names of domains are the host's.
func (j *judge) clear() {
	all, _, err := j.other.ConnectListAllDomains(1, 0)
	if err != nil {
		j.t.Fatal(err)
	}
	for _, d := range all {
		_ = j.other.DomainDestroyFlags(d, 0)
		_ = j.other.DomainUndefineFlags(d, 0)
	}
	pools, _, err := j.other.ConnectListAllStoragePools(1, 0)
	if err != nil {
		j.t.Fatal(err)
	}
	for _, p := range pools {
		_ = j.other.StoragePoolDestroy(p)
	}
}

// TestConformanceOfTheRealOne runs the suite on libvirt's own driver, which the simulator's answers must
// match.
func TestConformanceOfTheRealOne(t *testing.T) {
	newJudge(t)
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		j := newJudge(t)
		j.clear()
		return providertest.Harness{
			Start: start, Class: j.class, UserData: []byte{},
			ProviderID: map[string]*regexp.Regexp{provider.OpenShift: regexp.MustCompile(`libvirt:///[0-9a-f-]{36}`), provider.Gardener: regexp.MustCompile(`libvirt:///[0-9a-f-]{36}`)},
			Changed: func(class provider.Class) provider.Class {
				class.Spec = []byte(strings.Replace(string(class.Spec), `"domainMemory":64`, `"domainMemory":128`, 1))
				return class
			},
			Knobs: providertest.Knobs{
				Plant: j.plant, Count: j.count,
				Remove: func(_ provider.Class, id string) error { return remove(j.other, id) },
				Strip:  func(_ provider.Class, id string) error { return strip(j.other, id) },
			},
		}
	})
}
