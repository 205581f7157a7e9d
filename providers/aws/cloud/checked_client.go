package cloud

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/millwright-dev/millwright/provider"
)

// checkedClient is an HTTP client that handles two properties of the SDK.
//
// The SDK closes the body of a request as soon as it has an answer. If the transport has not read the
// body's end by then, it breaks the connection, and the answer is lost. So checkedClient sends bodies whose Close
// has no effect.
//
// And the SDK accepts any XML as an answer: a page on which a proxy asks for a password reads as an empty
// listing. So checkedClient checks the beginning of answers.
type checkedClient struct{ aws.HTTPClient }

func (c checkedClient) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err := c.HTTPClient.Do(r)
	if err != nil || answer.StatusCode >= http.StatusMultipleChoices {
		return answer, err
	}
	text := bufio.NewReaderSize(answer.Body, mostLooked)
	begin, err := text.Peek(mostLooked)
	if err != nil && !errors.Is(err, io.EOF) {
		answer.Body.Close()
		return nil, err
	}
	if !answerOfAWS.Match(begin) {
		answer.Body.Close()
		return nil, provider.Errorf(provider.Transient, "the answer of %s is not AWS's: is the endpoint correct, or does a proxy answer?", r.URL.Host)
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{text, answer.Body}
	return answer, nil
}

// mostLooked is how much of an answer is checked, in bytes.
const mostLooked = 512

// answerOfAWS matches the beginning of the answers of all called services: <RunInstancesResponse xmlns=...
var answerOfAWS = regexp.MustCompile(`^\s*(?:<\?xml[^>]*\?>)?\s*<[A-Za-z0-9]+Response[\s>/]`)
