package ec2

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// spotWorld has one running spot instance.
func spotWorld(t *testing.T, more map[string]string) (*Cloud, *double.Clock, string) {
	t.Helper()
	clock := &double.Clock{}
	c := New(clock, Options{Inventory: Sample()})
	parameters := map[string]string{
		"ImageId": "ami-0123456789abcdef0", "InstanceType": "m5.large", "InstanceMarketOptions.MarketType": "spot", "UserData": "I2Nsb3VkLWNvbmZpZw==",
	}
	for k, v := range more {
		parameters[k] = v
	}
	id, err := c.Plant(parameters, map[string]string{"Name": "m"})
	if err != nil {
		t.Fatal(err)
	}
	return c, clock, id
}

func ask(t *testing.T, h http.Handler, method, path string, headers ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Body)
	return w.Code, string(body)
}

func TestMetadataTellOfTheEndTwoMinutesBefore(t *testing.T) {
	c, clock, id := spotWorld(t, nil)
	h := c.Metadata(id)
	const notice = "/latest/meta-data/spot/termination-time"
	if status, _ := ask(t, h, "GET", notice); status != http.StatusNotFound {
		t.Errorf("before: %d", status)
	}
	if err := c.Do("interrupt", id); err != nil {
		t.Fatal(err)
	}
	if status, at := ask(t, h, "GET", notice); status != http.StatusOK || !strings.HasSuffix(at, "Z") {
		t.Errorf("told: %d %s", status, at)
	}
	clock.Advance(time.Minute)
	if i := c.Instances()[0]; i.State != running {
		t.Errorf("after a minute it is %s", i.State)
	}
	clock.Advance(time.Minute)
	if i := c.Instances()[0]; i.State != terminated || len(i.Dependants) > 0 {
		t.Errorf("after two minutes it is %s, with %v", i.State, i.Dependants)
	}
	if status, _ := ask(t, h, "GET", notice); status != http.StatusForbidden {
		t.Errorf("nobody is there to ask, and the answer is %d", status)
	}
}

func TestMetadataAskForTokens(t *testing.T) {
	c, _, id := spotWorld(t, map[string]string{"MetadataOptions.HttpTokens": "required"})
	h := c.Metadata(id)
	if status, _ := ask(t, h, "GET", "/latest/meta-data/instance-id"); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	if status, _ := ask(t, h, "PUT", "/latest/api/token"); status != http.StatusBadRequest {
		t.Errorf("a token without an end: %d", status)
	}
	_, token := ask(t, h, "PUT", "/latest/api/token", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
	for path, want := range map[string]string{
		"/latest/meta-data/instance-id": id, "/latest/user-data": "#cloud-config", "/latest/meta-data/placement/availability-zone": "us-east-1a",
		"/latest/meta-data/instance-life-cycle": "spot", "/latest/meta-data/local-hostname": c.Guests()[0].NodeName,
	} {
		if status, got := ask(t, h, "GET", path, "X-Aws-Ec2-Metadata-Token", token); status != http.StatusOK || got != want {
			t.Errorf("%s: %d %q, want %q", path, status, got, want)
		}
	}
	if _, got := ask(t, h, "GET", "/latest/dynamic/instance-identity/document", "X-Aws-Ec2-Metadata-Token", token); !strings.Contains(got, `"accountId":"123456789012"`) {
		t.Errorf("identity %s", got)
	}
}

func TestRequestsWithoutASignatureAreRefused(t *testing.T) {
	s := double.NewServer(&double.Clock{}, New(&double.Clock{}, Options{Inventory: Sample()}))
	for body, want := range map[string]string{
		"Action=DescribeInstances&Version=2016-11-15": "<Code>AuthFailure</Code>",
		"Action=GetCallerIdentity&Version=2011-06-15": "<Code>MissingAuthenticationToken</Code>",
		"Action=DescribeInstances&Version=1999-01-01": "<Code>InvalidAction</Code>",
		"nonsense": "<Code>InvalidAction</Code>",
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if w.Code == http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, want)
		}
	}
}

func TestPatternsOfFilters(t *testing.T) {
	for _, c := range []struct {
		pattern, value string
		want           bool
	}{
		{"m-1", "m-1", true},
		{"m-1", "m-10", false},
		{"m-*", "m-10", true},
		{"m-?", "m-10", false},
		{"*", "", true},
		{"", "", true},
		{"", "x", false},
		{`m-\*`, "m-*", true},
		{`m-\*`, "m-1", false},
		{"*a*", "banana", true},
	} {
		if got := like(c.pattern, c.value); got != c.want {
			t.Errorf("%q of %q: %t", c.value, c.pattern, got)
		}
	}
}
