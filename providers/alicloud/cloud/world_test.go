package cloud_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ecs"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/alicloud/cloud"
)

// world is the Alibaba Cloud of one test.
type world struct {
	*ecs.Cloud
	clock  *double.Clock
	server *double.Server
	url    string
}

func newWorld(t testing.TB, o ecs.Options) *world {
	t.Helper()
	w := &world{clock: &double.Clock{}}
	w.Cloud = ecs.New(w.clock, o)
	w.server = double.NewServer(w.clock, w.Cloud)
	s := httptest.NewServer(w.server)
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

func (w *world) start() *cloud.Provider {
	return cloud.New(cloud.Options{Clock: w.clock, Endpoint: w.url})
}

func (w *world) open(t testing.TB, class provider.Class) provider.Session {
	t.Helper()
	s, err := w.start().Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sample is a world with the sample's inventory.
func sample(t testing.TB) *world {
	t.Helper()
	return newWorld(t, ecs.Options{Inventory: ecs.Sample()})
}

// Specs of each API.
const (
	machine = `{"apiVersion":"machine.openshift.io/v1","kind":"AlibabaCloudMachineProviderConfig","instanceType":"ecs.g7.large","vpcId":"vpc-bp1example00000000001",
"regionId":"cn-hangzhou","zoneId":"cn-hangzhou-h","imageId":"m-bp1example00000000001","securityGroups":[{"type":"Tags","tags":[{"Key":"Name","Value":"c1-worker"}]}],
"vSwitch":{"type":"Tags","tags":[{"Key":"tier","Value":"private"}]},"resourceGroup":{"type":"Name","name":"c1"},"ramRoleName":"c1-worker",
"systemDisk":{"category":"cloud_essd","size":120},"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"alibabacloud-credentials"}}`
	machineClass = `{"imageID":"m-bp1example00000000001","instanceType":"ecs.g7.large","region":"cn-hangzhou","zoneID":"cn-hangzhou-h","securityGroupID":"sg-bp1example00000000001",
"vSwitchID":"vsw-bp1example0000000000h","systemDisk":{"category":"cloud_essd","size":50},"instanceChargeType":"PostPaid","internetChargeType":"PayByTraffic",
"spotStrategy":"NoSpot","keyPairName":"ops","dataDisks":[{"name":"d1","category":"cloud_essd","size":20}],
"tags":{"kubernetes.io/cluster/%s":"1","kubernetes.io/role/worker":"1"}}`
)

func secretOf(api string, c ecs.Credential) map[string][]byte {
	if api == provider.Gardener {
		return map[string][]byte{"accessKeyID": []byte(c.AccessKeyID), "accessKeySecret": []byte(c.AccessKeySecret), "userData": []byte("#cloud-config")}
	}
	return map[string][]byte{"credentials": fmt.Appendf(nil, "[default]\nenable = true\ntype = access_key\naccess_key_id = %s\naccess_key_secret = %s\n", c.AccessKeyID, c.AccessKeySecret)}
}

func classOf(api, cluster string) provider.Class {
	c := provider.Class{API: api, Cluster: cluster, Spec: []byte(machine), Region: "cn-hangzhou", Credentials: secretOf(api, ecs.Sample().Credentials[0])}
	if api == provider.Gardener {
		c.Spec = fmt.Appendf(nil, machineClass, cluster)
	}
	return c
}

// with replaces a part of a spec.
func with(class provider.Class, old, text string) provider.Class {
	if !strings.Contains(string(class.Spec), old) {
		panic("the spec has no " + old)
	}
	class.Spec = []byte(strings.Replace(string(class.Spec), old, text, 1))
	return class
}
