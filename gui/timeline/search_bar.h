#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QToolButton;

namespace plimsoll::gui {

/// A field to search in, with how many were found, and the next and the previous one.
class SearchBar final : public QWidget {
  Q_OBJECT

 public:
  explicit SearchBar(QWidget* parent = nullptr);

  void retranslate();
  /// "3 of 96"; position 0: "96".
  void show_count(std::size_t position, std::size_t matches, bool searching);
  void begin();
  [[nodiscard]] QString words() const;

 Q_SIGNALS:
  void wordsChanged(const QString& words);
  void nextRequested();
  void previousRequested();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QLineEdit* field_;
  QLabel* count_;
  QToolButton* previous_;
  QToolButton* next_;
};

}  // namespace plimsoll::gui
