package cloud_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	double "github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/provider"
)

// http trusts the simulator.
func (w *world) http() *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.ca)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
}

// sdk is a client of Azure's own SDK, with all its default behavior.
func (w *world) sdk() *compute.VirtualMachinesClient {
	w.t.Helper()
	options := policy.ClientOptions{Transport: w.http(), Cloud: azcloud.Configuration{
		ActiveDirectoryAuthorityHost: w.url + "/", Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{azcloud.ResourceManager: {Audience: w.url, Endpoint: w.url}},
	}}
	token, err := azidentity.NewClientSecretCredential(double.SampleTenant, double.SampleClient, double.SampleSecret, &azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := compute.NewVirtualMachinesClient(double.SampleSubscription, token, &arm.ClientOptions{ClientOptions: options})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// advance advances the simulator's time while the SDK polls in real time.
func (w *world) advance(t *testing.T) {
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				w.clock.Advance(time.Second)
			}
		}
	}()
}

// TestSDKFollowsOperations: the SDK's own pollers follow operations of the simulator to their ends, good
// and bad.
func TestSDKFollowsOperations(t *testing.T) {
	w := newWorld(t)
	s := w.open(class(provider.OpenShift, "c1"))
	i := w.create(s, machine(1))
	model, _ := w.cloud.Read(i.ID).(compute.VirtualMachine)
	w.remove(s, machine(1), i)
	s2 := w.open(patched(t, class(provider.OpenShift, "c1"), `{"publicIP":false}`))
	other := w.create(s2, machine(2))
	w.advance(t)

	often := &runtime.PollUntilDoneOptions{Frequency: time.Second}
	vms := w.sdk()
	stop, err := vms.BeginPowerOff(t.Context(), group, other.Name, nil)
	for tries := 0; err != nil && tries < 20; tries++ { // it boots
		time.Sleep(50 * time.Millisecond)
		stop, err = vms.BeginPowerOff(t.Context(), group, other.Name, nil)
	}
	if err == nil {
		_, err = stop.PollUntilDone(t.Context(), often)
	}
	if err != nil {
		t.Fatal(err)
	}
	gone, err := vms.BeginDelete(t.Context(), group, other.Name, nil)
	if err == nil {
		_, err = gone.PollUntilDone(t.Context(), often)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cloud.Do("exhaust", "1"); err != nil {
		t.Fatal(err)
	}
	w.cloud.Leave(double.Seed{Subscription: double.SampleSubscription, Group: group, NIC: machine(1).Name + "-nic", Location: "eastus"})
	model.Properties.StorageProfile.DataDisks = nil
	made, err := vms.BeginCreateOrUpdate(t.Context(), group, machine(1).Name, model, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = made.PollUntilDone(t.Context(), often)
	if failed, ok := errors.AsType[*azcore.ResponseError](err); !ok || failed.ErrorCode != "ZonalAllocationFailed" {
		t.Errorf("a machine without room ends in %v", err)
	}
	if _, err := vms.BeginCreateOrUpdate(t.Context(), group, machine(1).Name, model, &compute.VirtualMachinesClientBeginCreateOrUpdateOptions{IfNoneMatch: to.Ptr("*")}); err == nil || !strings.Contains(err.Error(), "412") {
		t.Errorf("a machine that is there is made again: %v", err)
	}
}

// TestScheduledEvents: an eviction is announced before, in the format that OpenShift's termination handler
// reads.
func TestScheduledEvents(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), `{"spotVMOptions":{}}`))
	i := w.create(s, machine(1))
	w.clock.Advance(time.Minute)
	if err := w.cloud.Do("interrupt", i.ID); err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/metadata/scheduledevents?api-version=2020-07-01", nil)
	req.Header.Set("Metadata", "true")
	resp, err := w.http().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	var says struct {
		Events []struct {
			EventType string
			Resources []string
		}
	}
	if err := json.Unmarshal(body, &says); err != nil || len(says.Events) != 1 || says.Events[0].EventType != "Preempt" || says.Events[0].Resources[0] != machine(1).Name {
		t.Errorf("%s, error %v", body, err)
	}
}
