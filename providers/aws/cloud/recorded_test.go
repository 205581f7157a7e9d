package cloud_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// recordings are those of both originals.
const recordings = "testdata/recorded"

// record is one case of the recordings, with the keys that only they have.
type record struct {
	recordtest.Record
	// AWS is status.platformStatus.aws of the Infrastructure, Annotations are the node template's of the machine.
	AWS         *configv1.AWSPlatformStatus
	Annotations map[string]string
}

func recordOf(t testing.TB, r recordtest.Record) record {
	t.Helper()
	out := record{Record: r}
	var more struct {
		AWS         *configv1.AWSPlatformStatus
		Annotations map[string]string
	}
	if err := json.Unmarshal(r.Line, &more); err != nil {
		t.Fatal(err)
	}
	out.AWS, out.Annotations = more.AWS, more.Annotations
	return out
}

func (r record) ref() provider.Ref { return refOf("m-" + r.ID) }

// world is AWS, and the objects of the cluster, at the time of the recording.
func (r record) world(t *testing.T) (*world, provider.Class) {
	w := newWorld(t, ec2.Options{Inventory: ec2.Sample(), AcceptAny: true})
	if r.AWS != nil {
		w.objects["Infrastructure/cluster"].(*configv1.Infrastructure).Status.PlatformStatus.AWS = r.AWS
	}
	if r.Annotations != nil {
		w.objects["Machine/"+r.ref().Name] = map[string]any{"spec": map[string]any{"nodeTemplate": map[string]any{"metadata": map[string]any{"annotations": r.Annotations}}}}
	}
	class := classOf(r.API, "c1")
	class.Spec, class.Region = r.Spec, ""
	return w, class
}

// play returns what the provider sends for the case, and the error with which it creates no instance.
func (r record) play(t *testing.T) (map[string]recordtest.Parameters, error) {
	w, class := r.world(t)
	s, err := w.start().Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	i, err := s.Create(t.Context(), r.ref(), want)
	if err == nil {
		w.clock.Advance(time.Minute)
		if r.API == provider.Gardener {
			initialize(t, s, r.ref(), i)
		}
	}
	sent := map[string]recordtest.Parameters{}
	for operation := range w.server.Counts() {
		if reading := regexp.MustCompile(`^(Describe|sts\.)`); reading.MatchString(operation) {
			continue
		}
		for n, request := range w.Received(operation) {
			if n > 0 {
				operation = fmt.Sprintf("%s %d", strings.Fields(operation)[0], n+1)
			}
			sent[operation] = r.parametersOf(request)
		}
	}
	if _, ok := sent["RunInstances"]; ok {
		return sent, nil
	}
	return sent, err
}

var (
	tagKey    = regexp.MustCompile(`^(TagSpecification\.\d+\.)Tag\.\d+\.Key$`)
	unrelated = regexp.MustCompile(`^(Action|Version|ClientToken|UserData)$|^TagSpecification\.`)
)

// parametersOf are those of a request in the form of records.
func (r record) parametersOf(request url.Values) recordtest.Parameters {
	out := recordtest.Parameters{}
	for key := range request {
		value := request.Get(key)
		if m := tagKey.FindStringSubmatch(key); m != nil {
			out["Tag."+request.Get(m[1]+"ResourceType")+"."+value] = request.Get(strings.TrimSuffix(key, "Key") + "Value")
		} else if !unrelated.MatchString(key) {
			out[key] = value
		}
	}
	_, allocated := r.Sent["AllocateHosts"]
	for key, value := range out {
		switch {
		case value == r.ref().Name:
			out[key] = "{machine}"
		case key == "NetworkInterfaceId":
			out[key] = "{interface}"
		case key == "Placement.HostId" && allocated:
			out[key] = "{allocated}"
		}
	}
	return out
}

// TestRecordedRequests compares the provider's requests with the recorded ones of the originals.
func TestRecordedRequests(t *testing.T) {
	recordtest.Suite{
		Package: "providers/aws/cloud", Folder: recordings, Page: "../../../docs/providers/aws.md", APIs: []string{provider.OpenShift, provider.Gardener},
		Same: "same requests, except for Millwright's tags", Differences: differences,
		Play: func(t *testing.T, r recordtest.Record) (map[string]recordtest.Parameters, error) {
			return recordOf(t, r).play(t)
		},
	}.Run(t)
}
