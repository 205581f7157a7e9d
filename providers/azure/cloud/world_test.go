package cloud_test

import (
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/azure/cloud"
)

// world is a simulator of Azure behind TLS, as the real one is.
type world struct {
	t      *testing.T
	clock  *double.Clock
	cloud  *arm.Cloud
	server *double.Server
	// sent records the requests to the simulator.
	sent double.Recorder
	url  string
	ca   []byte
}

const pageSize = 5

// group is the resource group of all machines of tests.
const group = "demo-rg"

// newWorld serves a simulator with the sample's inventory, which change may change.
func newWorld(t *testing.T, change ...func(*arm.Options)) *world {
	t.Helper()
	o := arm.Options{Inventory: arm.Sample(), Boot: 3 * time.Second, Delete: 2 * time.Second, PageSize: pageSize}
	for _, c := range change {
		c(&o)
	}
	w := &world{t: t, clock: &double.Clock{}}
	w.cloud = arm.New(w.clock, o)
	w.server = double.NewServer(w.clock, w.cloud)
	s := httptest.NewTLSServer(w.sent.Around(w.server))
	t.Cleanup(s.Close)
	w.url = s.URL
	w.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return w
}

// start is a provider in a new process.
func (w *world) start() provider.Provider {
	return cloud.New(cloud.Options{Clock: w.clock, Endpoint: w.url, CABundle: w.ca, Getenv: func(string) string { return "" }})
}

// specs are valid ones of each API; CLUSTER stands for the cluster's name.
var specs = map[string]string{
	provider.OpenShift: `{"apiVersion":"machine.openshift.io/v1beta1","kind":"AzureMachineProviderSpec","location":"eastus","vmSize":"Standard_D4s_v3",
		"image":{"resourceID":"/resourceGroups/demo-rg/providers/Microsoft.Compute/galleries/gallery_demo/images/demo-gen2/versions/latest"},
		"osDisk":{"osType":"Linux","diskSizeGB":128,"managedDisk":{"storageAccountType":"Premium_LRS"}},
		"subnet":"demo-worker-subnet","vnet":"demo-vnet","zone":"1","publicIP":true,"userDataSecret":{"name":"worker-user-data"},
		"credentialsSecret":{"name":"azure-cloud-credentials","namespace":"openshift-machine-api"}}`,
	provider.Gardener: `{"location":"eastus","resourceGroup":"demo-rg","subnetInfo":{"vnetName":"demo-vnet","subnetName":"demo-worker-subnet"},
		"tags":{"kubernetes.io-cluster-CLUSTER":"1","kubernetes.io-role-node":"1","Name":"CLUSTER"},
		"properties":{"hardwareProfile":{"vmSize":"Standard_D4s_v3"},"zone":1,
			"osProfile":{"adminUsername":"core","linuxConfiguration":{"disablePasswordAuthentication":true,"ssh":{"publicKeys":{"path":"/keys/core"}}}},
			"storageProfile":{"imageReference":{"urn":"sap:gardenlinux:greatest:1877.4.0"},
				"osDisk":{"caching":"None","diskSizeGB":50,"createOption":"FromImage","managedDisk":{"storageAccountType":"Standard_LRS"}},
				"dataDisks":[{"name":"work","lun":0,"diskSizeGB":20,"storageAccountType":"Standard_LRS"}]}}}`,
}

// secrets are credentials as each API has them.
func secrets(api, secret string) map[string][]byte {
	if api == provider.Gardener {
		return map[string][]byte{
			"subscriptionID": []byte(arm.SampleSubscription), "tenantID": []byte(arm.SampleTenant), "clientID": []byte(arm.SampleClient), "clientSecret": []byte(secret),
			"userData": []byte("x"),
		}
	}
	return map[string][]byte{
		"azure_subscription_id": []byte(arm.SampleSubscription), "azure_tenant_id": []byte(arm.SampleTenant), "azure_client_id": []byte(arm.SampleClient),
		"azure_client_secret": []byte(secret), "azure_resourcegroup": []byte(group), "azure_region": []byte("eastus"), "azure_resource_prefix": []byte("demo"),
	}
}

func class(api, cluster string) provider.Class {
	return provider.Class{API: api, Cluster: cluster, Spec: []byte(strings.ReplaceAll(specs[api], "CLUSTER", cluster)), Credentials: secrets(api, arm.SampleSecret)}
}

// patched is a class whose spec has the patch merged into it.
func patched(t *testing.T, c provider.Class, patch string) provider.Class {
	t.Helper()
	c.Spec = fieldsdoc.Patched(t, c.Spec, patch)
	return c
}

func (w *world) open(c provider.Class) provider.Session {
	w.t.Helper()
	s, err := w.start().Open(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}
