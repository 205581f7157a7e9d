package cloud_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/aws/cloud"
)

// world is the AWS of one test.
type world struct {
	*ec2.Cloud
	clock   *double.Clock
	server  *double.Server
	url     string
	objects objects
}

// objects are those of the control cluster.
type objects map[string]any

func (o objects) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	v, ok := o[ref.Kind+"/"+ref.Name]
	if !ok {
		return nil, provider.ErrNoObject
	}
	return json.Marshal(v)
}

func newWorld(t testing.TB, o ec2.Options) *world {
	t.Helper()
	w := &world{clock: &double.Clock{}, objects: objects{}}
	w.Cloud = ec2.New(w.clock, o)
	w.server = double.NewServer(w.clock, w.Cloud)
	s := httptest.NewServer(w.server)
	t.Cleanup(s.Close)
	w.url = s.URL
	w.objects["Infrastructure/cluster"] = &configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Status: configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Type: configv1.AWSPlatformType, AWS: &configv1.AWSPlatformStatus{
			Region: o.Inventory.Region,
		}}},
	}
	return w
}

func (w *world) start() *cloud.Provider {
	return cloud.New(cloud.Options{Clock: w.clock, Objects: w.objects, Endpoint: w.url})
}

func (w *world) open(t testing.TB, class provider.Class) provider.Session {
	t.Helper()
	s, err := w.start().Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Specs of each API. The tags of a role are on both, so that either lists the other's instances.
const (
	machine = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-0123456789abcdef0"},"instanceType":"m5.large",
"placement":{"region":"us-east-1","availabilityZone":"us-east-1a"},"subnet":{"filters":[{"name":"tag:tier","values":["private"]}]},
"securityGroups":[{"filters":[{"name":"tag:Name","values":["c1-worker-sg"]}]}],"iamInstanceProfile":{"id":"c1-worker-profile"},
"tags":[{"name":"kubernetes.io/role/node","value":"1"}],"deviceIndex":0,
"blockDevices":[{"ebs":{"volumeSize":120,"volumeType":"gp3","encrypted":true}}],"userDataSecret":{"name":"worker-user-data"},"credentialsSecret":{"name":"aws-cloud-credentials"}}`
	machineClass = `{"ami":"ami-0123456789abcdef0","machineType":"m5.large","region":"us-east-1","iam":{"name":"nodes"},
"networkInterfaces":[{"subnetID":"subnet-0a00000000000000a","securityGroupIDs":["sg-0123456789abcdef0"]}],"srcAndDstChecksEnabled":false,
"blockDevices":[{"ebs":{"volumeSize":50,"volumeType":"gp3"}}],"tags":{"kubernetes.io/cluster/%s":"1","kubernetes.io/role/node":"1"}}`
)

func secretOf(api string, c ec2.Credential) map[string][]byte {
	if api == provider.Gardener {
		return map[string][]byte{"accessKeyID": []byte(c.AccessKeyID), "secretAccessKey": []byte(c.SecretAccessKey), "userData": []byte("#cloud-config")}
	}
	return map[string][]byte{"aws_access_key_id": []byte(c.AccessKeyID), "aws_secret_access_key": []byte(c.SecretAccessKey)}
}

func classOf(api, cluster string) provider.Class {
	c := provider.Class{API: api, Cluster: cluster, Spec: []byte(machine), Region: "us-east-1", Credentials: secretOf(api, ec2.Sample().Credentials[0])}
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
